import { CHAT_MATRIX } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite("recorded chat traffic to clients of other dialects", CHAT_MATRIX, {}, [
  "responses",
  "messages",
  "gemini",
  "gemini-array",
  "completions",
]);
