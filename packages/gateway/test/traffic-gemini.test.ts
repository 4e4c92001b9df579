import { GEMINI_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite("recorded Gemini traffic", GEMINI_SOURCES, {});
