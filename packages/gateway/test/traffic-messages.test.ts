import { MESSAGES_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite("recorded Anthropic Messages traffic", MESSAGES_SOURCES, {});
