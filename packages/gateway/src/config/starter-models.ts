import type { PresetName } from "./presets.ts";

/** A provider that zero config makes when its key is in the environment. */
export interface StarterProvider {
  name: string;
  keyVariable: string;
  kind: "openai" | "anthropic" | "gemini" | "mistral" | "cohere" | "openai-compatible";
  preset?: PresetName;
  /** Models behind the aliases `default` and `fast`: dated, or versioned where the vendor has no dates. */
  models: { default: string; fast: string };
}

/** In the order of the chains they make: the first whose key is set answers, the others stand behind it. */
export const STARTER_PROVIDERS: readonly StarterProvider[] = [
  {
    name: "openai",
    keyVariable: "OPENAI_API_KEY",
    kind: "openai",
    models: { default: "gpt-4o-2024-11-20", fast: "gpt-4o-mini-2024-07-18" },
  },
  {
    name: "anthropic",
    keyVariable: "ANTHROPIC_API_KEY",
    kind: "anthropic",
    models: { default: "claude-sonnet-5", fast: "claude-haiku-4-5-20251001" },
  },
  {
    name: "gemini",
    keyVariable: "GEMINI_API_KEY",
    kind: "gemini",
    models: { default: "gemini-3.8-flash", fast: "gemini-3.5-flash-lite" },
  },
  {
    name: "mistral",
    keyVariable: "MISTRAL_API_KEY",
    kind: "mistral",
    models: { default: "mistral-large-2512", fast: "mistral-small-2603" },
  },
  {
    name: "cohere",
    keyVariable: "COHERE_API_KEY",
    kind: "cohere",
    models: { default: "command-a-03-2025", fast: "command-r7b-12-2024" },
  },
  {
    name: "groq",
    keyVariable: "GROQ_API_KEY",
    kind: "openai-compatible",
    preset: "groq",
    models: { default: "openai/gpt-oss-120b", fast: "openai/gpt-oss-20b" },
  },
  {
    name: "deepseek",
    keyVariable: "DEEPSEEK_API_KEY",
    kind: "openai-compatible",
    preset: "deepseek",
    models: { default: "deepseek-v4-pro", fast: "deepseek-v4-flash" },
  },
  {
    name: "xai",
    keyVariable: "XAI_API_KEY",
    kind: "openai-compatible",
    preset: "xai",
    models: { default: "grok-4.5", fast: "grok-4-1-fast-non-reasoning" },
  },
  {
    name: "openrouter",
    keyVariable: "OPENROUTER_API_KEY",
    kind: "openai-compatible",
    preset: "openrouter",
    models: { default: "openai/gpt-4o-2024-11-20", fast: "openai/gpt-4o-mini-2024-07-18" },
  },
  {
    name: "together",
    keyVariable: "TOGETHER_API_KEY",
    kind: "openai-compatible",
    preset: "together",
    models: {
      default: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
      fast: "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo",
    },
  },
  {
    name: "fireworks",
    keyVariable: "FIREWORKS_API_KEY",
    kind: "openai-compatible",
    preset: "fireworks",
    models: { default: "accounts/fireworks/models/gpt-oss-120b", fast: "accounts/fireworks/models/gpt-oss-20b" },
  },
  {
    name: "cerebras",
    keyVariable: "CEREBRAS_API_KEY",
    kind: "openai-compatible",
    preset: "cerebras",
    models: { default: "gpt-oss-120b", fast: "llama3.1-8b" },
  },
];

/**
 * A key and an address make kind azure-openai. What is deployed there cannot be known: `azure/NAME` asks for the deployment
 * NAME, and only where nobody else answers do the aliases lead to the names that Azure itself proposes.
 */
export const AZURE_STARTER = {
  name: "azure",
  keyVariable: "AZURE_OPENAI_API_KEY",
  endpointVariable: "AZURE_OPENAI_ENDPOINT",
  models: { default: "gpt-4o", fast: "gpt-4o-mini" },
} as const;

/**
 * Credentials of AWS's and a region make kind bedrock: any of these groups. Who has them need not have Bedrock, so that only
 * where nobody else answers do the aliases lead to it. These ids of Bedrock's are called from every commercial region.
 */
export const BEDROCK_STARTER = {
  name: "bedrock",
  keyVariable: "AWS_BEARER_TOKEN_BEDROCK",
  credentials: [
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
    ["AWS_PROFILE"],
    ["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"],
    ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"],
    ["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
  ],
  models: {
    default: "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    fast: "global.anthropic.claude-haiku-4-5-20251001-v1:0",
  },
} as const;

/** Where the Redis is that replicas share. */
export const STATE_VARIABLE = "REDIS_URL";

/** Local model servers and the ports they have by custom. */
export const LOCAL_SERVERS: readonly { preset: PresetName; port: number }[] = [
  { preset: "ollama", port: 11_434 },
  { preset: "vllm", port: 8_000 },
  { preset: "lm-studio", port: 1_234 },
  { preset: "llama-cpp", port: 8_080 },
];
