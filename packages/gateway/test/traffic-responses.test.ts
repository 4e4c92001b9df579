import { RESPONSES_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite(
  "recorded Responses traffic",
  RESPONSES_SOURCES, // chat, responses, messages, gemini, gemini-array, completions
  {
    "openai-responses": [60, 60, 60, 60, 30, 60],
    "azure-responses": [35, 35, 35, 35, 16, 35],
    "xai-responses": [9, 9, 9, 9, 4, 9],
    "openrouter-responses": [3, 3, 3, 3, 1, 3],
    "deepseek-responses": [12, 12, 12, 12, 3, 12],
    "bedrock-mantle-responses": [13, 13, 13, 13, 3, 13],
    "local-responses": [5, 5, 5, 5, 2, 5],
    "error-shapes": [1, 1, 1, 1, 1, 1],
  },
);
