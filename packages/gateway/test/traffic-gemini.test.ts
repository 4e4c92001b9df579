import { GEMINI_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite(
  "recorded Gemini traffic",
  GEMINI_SOURCES, // chat, responses, messages, gemini, gemini-array, completions
  {
    "gemini-generate": [60, 60, 60, 60, 19, 60],
    "vertex-generate": [51, 51, 51, 51, 11, 51],
    "error-shapes": [2, 2, 2, 2, 0, 2],
  },
);
