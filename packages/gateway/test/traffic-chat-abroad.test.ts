import { CHAT_MATRIX } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";

matrixSuite(
  "recorded chat traffic to clients of other dialects",
  CHAT_MATRIX,
  {
    "alibaba-chat": [6, 6, 6, 3, 6],
    "anthropic-openai-chat": [2, 2, 2, 1, 2],
    "azure-chat": [20, 20, 20, 9, 20],
    "bedrock-mantle-chat": [1, 1, 1, 0, 1],
    "cerebras-chat": [13, 13, 13, 1, 13],
    "crusoe-chat": [5, 5, 5, 1, 5],
    "deepseek-chat": [12, 12, 12, 4, 12],
    "gemini-openai-chat": [2, 2, 2, 0, 2],
    "groq-chat": [48, 48, 48, 11, 48],
    "huggingface-chat": [20, 20, 20, 5, 20],
    "local-chat": [12, 12, 12, 5, 12],
    "mistral-chat": [31, 31, 31, 5, 31],
    "moonshot-chat": [4, 4, 4, 1, 4],
    "ollama-chat": [2, 2, 2, 0, 2],
    "ollama-cloud-chat": [3, 3, 3, 0, 3],
    "openai-chat": [60, 60, 60, 17, 60],
    "openrouter-chat": [60, 60, 60, 26, 60],
    "perplexity-chat": [3, 3, 3, 2, 3],
    "snowflake-chat": [10, 10, 10, 2, 10],
    "together-chat": [2, 2, 2, 0, 2],
    "vercel-gateway-chat": [25, 25, 25, 13, 25],
    "xai-chat": [27, 27, 27, 14, 27],
    "zai-chat": [22, 22, 22, 8, 22],
    "error-shapes": [12, 12, 12, 0, 12],
  },
  ["responses", "messages", "gemini", "gemini-array", "completions"],
);
