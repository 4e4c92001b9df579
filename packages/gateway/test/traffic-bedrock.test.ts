import { BEDROCK_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite(
  "recorded Bedrock traffic",
  BEDROCK_SOURCES, // chat, responses, messages, gemini, gemini-array, completions
  { "bedrock-converse": [60, 60, 60, 60, 11, 60], "error-shapes": [1, 1, 1, 1, 0, 1] },
);
