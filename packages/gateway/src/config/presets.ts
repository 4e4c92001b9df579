/** An API of the OpenAI family for chat. */
export type ChatApi = "chat" | "responses";

/** What is known of an OpenAI-compatible server: data, so that one more server is one more row. */
export interface Preset {
  name: PresetName;
  /** What its SDK takes; null: the user must give `base_url`, because the server is wherever they run it. */
  baseUrl: string | null;
  /** Variable that holds the key by custom. */
  keyVariable: string | null;
  /** The server refuses calls without a key. */
  needsKey: boolean;
  /** Run by its user, on the user's own machines. */
  selfHosted: boolean;
  /** The APIs it has for chat, the one first that other dialects are translated to. */
  apis: readonly ChatApi[];
  /** The output cap's name in a request; null: it takes either. */
  maxTokensField: "max_tokens" | "max_completion_tokens" | null;
  /** It takes `stream_options.include_usage`. */
  streamOptions: boolean;
  /** `completion_tokens` includes reasoning tokens. */
  reasoningInOutput: boolean;
}

/** The presets' names (INTERFACE, ruling 1). */
export const PRESET_NAMES = [
  "vllm",
  "tgi",
  "llama-cpp",
  "ollama",
  "lm-studio",
  "groq",
  "together",
  "fireworks",
  "deepseek",
  "xai",
  "openrouter",
  "perplexity",
  "cerebras",
  "huggingface",
  "nvidia-nim",
  "moonshot",
  "zai",
  "alibaba",
  "sambanova",
  "github-models",
] as const;

/** Name of a preset. */
export type PresetName = (typeof PRESET_NAMES)[number];

const CHAT: readonly ChatApi[] = ["chat"];
/** Servers of both: a foreign client is translated to chat, which says more (stop sequences, seeds, penalties). */
const BOTH: readonly ChatApi[] = ["chat", "responses"];

const usual = { apis: CHAT, maxTokensField: "max_tokens", streamOptions: true, reasoningInOutput: true } as const;

const own = (baseUrl: string | null): Omit<Preset, "name"> => ({
  ...usual,
  baseUrl,
  keyVariable: null,
  needsKey: false,
  selfHosted: true,
});

const vendor = (baseUrl: string, keyVariable: string): Omit<Preset, "name"> => ({
  ...usual,
  baseUrl,
  keyVariable,
  needsKey: true,
  selfHosted: false,
});

const PRESETS: Readonly<Record<PresetName, Omit<Preset, "name">>> = {
  vllm: { ...own(null), apis: BOTH, maxTokensField: "max_completion_tokens" },
  tgi: own(null),
  // Its port of custom, 8080, is this gateway's own, so there is no default to guess.
  "llama-cpp": { ...own(null), apis: BOTH },
  ollama: { ...own("http://127.0.0.1:11434/v1"), apis: BOTH },
  "lm-studio": { ...own("http://127.0.0.1:1234/v1"), apis: BOTH },
  groq: { ...vendor("https://api.groq.com/openai/v1", "GROQ_API_KEY"), maxTokensField: "max_completion_tokens" },
  together: vendor("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
  fireworks: { ...vendor("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"), maxTokensField: null },
  // Its Responses API is known at the bare host alone, where the rest is, too.
  deepseek: { ...vendor("https://api.deepseek.com", "DEEPSEEK_API_KEY"), apis: BOTH },
  // completion_tokens of a chat answer leaves reasoning out: 12 prompt + 1 completion + 290 reasoning = 303 total.
  xai: {
    ...vendor("https://api.x.ai/v1", "XAI_API_KEY"),
    apis: BOTH,
    maxTokensField: "max_completion_tokens",
    reasoningInOutput: false,
  },
  openrouter: { ...vendor("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"), apis: BOTH, maxTokensField: null },
  // Its /chat/completions ended on 2026-09-27; what is left speaks the Responses API.
  perplexity: {
    ...vendor("https://api.perplexity.ai/v1", "PERPLEXITY_API_KEY"),
    apis: ["responses"],
    streamOptions: false,
  },
  cerebras: { ...vendor("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"), maxTokensField: "max_completion_tokens" },
  huggingface: vendor("https://router.huggingface.co/v1", "HF_TOKEN"),
  "nvidia-nim": vendor("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
  moonshot: vendor("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
  zai: vendor("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
  alibaba: vendor("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
  sambanova: vendor("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
  "github-models": vendor("https://models.github.ai/inference", "GITHUB_TOKEN"),
};

/** A preset, or null when there is none of that name. */
export function presetNamed(name: string): Preset | null {
  const known = PRESET_NAMES.find((candidate) => candidate === name);
  return known === undefined ? null : { name: known, ...PRESETS[known] };
}
