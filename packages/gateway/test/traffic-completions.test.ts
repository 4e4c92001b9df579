import { COMPLETIONS_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite("recorded legacy completions", COMPLETIONS_SOURCES, { "openai-completions": [11] }, ["completions"]);
