import { MESSAGES_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite(
  "recorded Anthropic Messages traffic",
  MESSAGES_SOURCES, // chat, responses, messages, gemini, gemini-array, completions
  {
    "anthropic-messages": [60, 60, 60, 60, 25, 60],
    "vertex-anthropic-messages": [8, 8, 8, 8, 4, 8],
    "local-messages": [1, 1, 1, 1, 0, 1],
    "error-shapes": [4, 4, 4, 4, 1, 4],
  },
);
