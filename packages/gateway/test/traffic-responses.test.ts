import { RESPONSES_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite("recorded Responses traffic", RESPONSES_SOURCES, {});
