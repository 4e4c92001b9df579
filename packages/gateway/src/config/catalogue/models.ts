import type { Capability } from "../../core/call.ts";
import type { CatalogueModel } from "./schema.ts";

const TOOLS: Capability[] = ["tools", "parallel_tools"];
/** What OpenAI's chat models of today do; the others are told by what they lack. */
const OPENAI: Capability[] = [...TOOLS, "vision", "documents", "json_schema", "logprobs", "n"];
/** While they think, they name no probabilities. */
const OPENAI_THINKING: Capability[] = [...TOOLS, "vision", "documents", "json_schema", "n"];
const CLAUDE: Capability[] = [...TOOLS, "vision", "documents", "json_schema"];
/** Before answers could be held to a schema. */
const CLAUDE_EARLY: Capability[] = [...TOOLS, "vision", "documents"];
const GEMINI: Capability[] = [...TOOLS, "vision", "documents", "audio", "json_schema", "logprobs", "n"];
/** Models that anybody serves: what is around the model decides on the rest, so little is said to be beyond them. */
const OPEN_TEXT: Capability[] = [...TOOLS, "json_schema", "logprobs", "n"];
const OPEN_VISION: Capability[] = [...OPEN_TEXT, "vision", "documents"];

const TEXT = { input: ["text"], output: ["text"] } satisfies CatalogueModel["modalities"];
const SEES = { input: ["text", "image", "pdf"], output: ["text"] } satisfies CatalogueModel["modalities"];
const HEARS = {
  input: ["text", "image", "pdf", "audio", "video"],
  output: ["text"],
} satisfies CatalogueModel["modalities"];
const VECTORS = { input: ["text"], output: ["embedding"] } satisfies CatalogueModel["modalities"];
const PICTURES = { input: ["text", "image"], output: ["image"] } satisfies CatalogueModel["modalities"];
const SPEAKS = { input: ["text"], output: ["audio"] } satisfies CatalogueModel["modalities"];
const LISTENS = { input: ["audio"], output: ["text"] } satisfies CatalogueModel["modalities"];

const OPENAI_FACTS = ["models.dev", "book"];
const THINKING_FACTS = ["models.dev", "book", "openai-reasoning"];
const CLAUDE_FACTS = ["models.dev", "book"];
const GEMINI_FACTS = ["gemini-list", "models.dev"];
const OPEN_FACTS = ["models.dev"];

/**
 * The models that ship. A list of capabilities leaves out only what is known to be beyond the model: where nobody says, the
 * word is in it, because a gate that is wrong refuses what would have worked. Windows are the price book's unless told here;
 * where one can be had larger (a beta header), the larger.
 */
export const MODELS: CatalogueModel[] = [
  // OpenAI
  model(["gpt-4o", "chatgpt-4o"], "openai/gpt-4o", { max_output: 16_384, capabilities: OPENAI, modalities: SEES }),
  model(["gpt-4o-2024-05-13"], "openai/gpt-4o", { max_output: 4_096, capabilities: OPENAI, modalities: SEES }),
  model(["gpt-4o-mini"], "openai/gpt-4o-mini", { max_output: 16_384, capabilities: OPENAI, modalities: SEES }),
  model(["gpt-4o-audio-preview", "gpt-4o-mini-audio-preview", "gpt-audio*"], "openai/gpt-audio", {
    modalities: { input: ["text", "audio"], output: ["text", "audio"] },
    sources: ["book"],
  }),
  model(["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"], "openai/gpt-4.1", {
    context_window: 1_047_576,
    max_output: 32_768,
    capabilities: OPENAI,
    modalities: SEES,
  }),
  model(["gpt-4-turbo", "gpt-4-turbo-preview", "gpt-4-vision-preview"], "openai/gpt-4-turbo", {
    max_output: 4_096,
    capabilities: [...TOOLS, "vision", "documents", "logprobs", "n"],
    modalities: SEES,
  }),
  model(["gpt-4"], "openai/gpt-4", { max_output: 8_192, capabilities: [...TOOLS, "logprobs", "n"], modalities: TEXT }),
  model(["gpt-3.5-turbo"], "openai/gpt-3.5-turbo", {
    max_output: 4_096,
    capabilities: [...TOOLS, "logprobs", "n"],
    modalities: TEXT,
  }),
  model(["gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5-pro", "gpt-5-codex"], "openai/gpt-5", {
    max_output: 128_000,
    capabilities: OPENAI_THINKING,
    modalities: SEES,
    sources: THINKING_FACTS,
  }),
  // With an effort of none they do what those before them did.
  model(["gpt-5.1", "gpt-5.1-codex*", "gpt-5.2", "gpt-5.2-codex", "gpt-5.2-pro", "gpt-5.3-codex"], "openai/gpt-5.1", {
    max_output: 128_000,
    capabilities: OPENAI,
    modalities: SEES,
    sources: THINKING_FACTS,
  }),
  model(["gpt-5.4", "gpt-5.4-pro", "gpt-5.5", "gpt-5.5-pro"], "openai/gpt-5.4", {
    max_output: 128_000,
    capabilities: OPENAI,
    modalities: SEES,
    sources: THINKING_FACTS,
  }),
  model(["gpt-5.4-mini", "gpt-5.4-nano"], "openai/gpt-5.4-mini", {
    max_output: 128_000,
    capabilities: OPENAI,
    modalities: SEES,
    sources: THINKING_FACTS,
  }),
  model(["gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"], "openai/gpt-5.6-sol", {
    max_output: 128_000,
    capabilities: OPENAI,
    modalities: SEES,
  }),
  model(["gpt-6-astra", "gpt-6-sol", "gpt-6-luna"], "openai/gpt-6-luna", {
    max_output: 128_000,
    capabilities: OPENAI,
    modalities: SEES,
  }),
  model(["o1", "o1-pro", "o3", "o3-pro", "o4-mini"], "openai/o3", {
    max_output: 100_000,
    capabilities: OPENAI_THINKING,
    modalities: SEES,
    sources: THINKING_FACTS,
  }),
  model(["o3-mini"], "openai/o3-mini", {
    max_output: 100_000,
    capabilities: [...TOOLS, "json_schema", "n"],
    modalities: TEXT,
    sources: THINKING_FACTS,
  }),
  model(["gpt-oss-120b", "gpt-oss-20b", "gpt-oss-safeguard-120b", "gpt-oss-safeguard-20b"], "openai/gpt-oss-120b", {
    capabilities: OPEN_TEXT,
    modalities: TEXT,
  }),
  model(
    ["text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"],
    "openai/text-embedding-3-small",
    {
      capabilities: ["embeddings"],
      modalities: VECTORS,
    },
  ),
  model(["gpt-image-1*", "gpt-image-2*", "chatgpt-image-latest", "dall-e-2", "dall-e-3"], null, {
    capabilities: ["images"],
    modalities: PICTURES,
  }),
  model(["tts-1", "tts-1-hd", "gpt-4o-mini-tts"], null, { capabilities: ["speech"], modalities: SPEAKS }),
  model(
    [
      "whisper-1",
      "whisper-large-v3",
      "whisper-large-v3-turbo",
      "gpt-4o-transcribe*",
      "gpt-4o-mini-transcribe",
      "gpt-transcribe",
    ],
    null,
    {
      capabilities: ["transcription"],
      modalities: LISTENS,
    },
  ),

  // Anthropic
  model(["claude-3-haiku", "claude-3-sonnet", "claude-3-opus"], "anthropic/claude-3-haiku-20240307", {
    max_output: 4_096,
    capabilities: CLAUDE_EARLY,
    modalities: { input: ["text", "image"], output: ["text"] },
  }),
  model(["claude-3-5-haiku", "claude-3-5-sonnet"], "anthropic/claude-3-5-haiku-latest", {
    max_output: 8_192,
    capabilities: CLAUDE_EARLY,
    modalities: SEES,
  }),
  model(["claude-3-7-sonnet"], "anthropic/claude-3-7-sonnet-latest", {
    max_output: 64_000,
    capabilities: CLAUDE_EARLY,
    modalities: SEES,
  }),
  // A million tokens with the beta context-1m-2025-08-07.
  model(["claude-sonnet-4", "claude-sonnet-4-0"], "anthropic/claude-sonnet-4-0", {
    context_window: 1_000_000,
    max_output: 64_000,
    capabilities: CLAUDE_EARLY,
    modalities: SEES,
  }),
  model(["claude-sonnet-4-5"], "anthropic/claude-sonnet-4-5", {
    context_window: 1_000_000,
    max_output: 64_000,
    capabilities: CLAUDE,
    modalities: SEES,
    sources: [...CLAUDE_FACTS, "claude-sonnet-4-5"],
  }),
  model(["claude-opus-4", "claude-opus-4-0"], "anthropic/claude-opus-4-0", {
    max_output: 32_000,
    capabilities: CLAUDE_EARLY,
    modalities: SEES,
  }),
  model(["claude-opus-4-1"], "anthropic/claude-opus-4-1", {
    max_output: 32_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),
  model(["claude-haiku-4-5"], "anthropic/claude-haiku-4-5", {
    max_output: 64_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),
  model(["claude-opus-4-5"], "anthropic/claude-opus-4-5", {
    max_output: 64_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),
  model(["claude-sonnet-4-6"], "anthropic/claude-sonnet-4-6", {
    max_output: 64_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),
  model(["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8"], "anthropic/claude-opus-4-6", {
    max_output: 128_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),
  model(["claude-sonnet-5", "claude-opus-5", "claude-fable-5", "claude-fable-5-1"], "anthropic/claude-opus-5", {
    max_output: 128_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),
  model(["claude-opus-5-5"], "anthropic/claude-opus-5-5", { capabilities: CLAUDE, modalities: SEES }),
  model(["claude-haiku-5-5"], null, {
    context_window: 1_000_000,
    max_output: 128_000,
    capabilities: CLAUDE,
    modalities: SEES,
  }),

  // Google. Windows are those of the input; the answer has its own room beside it.
  model(["gemini-2.0-flash", "gemini-2.0-flash-lite"], "google/gemini-2.0-flash", {
    context_window: 1_048_576,
    max_output: 8_192,
    capabilities: GEMINI,
    modalities: HEARS,
  }),
  model(["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"], "google/gemini-2.5-flash", {
    context_window: 1_048_576,
    max_output: 65_536,
    capabilities: GEMINI,
    modalities: HEARS,
  }),
  model(
    [
      ...["gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-3.1-pro-preview", "gemini-3.1-flash-lite"],
      ...["gemini-3.1-flash-lite-preview", "gemini-3.5-flash", "gemini-3.5-flash-lite", "gemini-3.6-flash"],
      ...[
        "gemini-3.7-flash",
        "gemini-3.8-flash",
        "gemini-pro-latest",
        "gemini-flash-latest",
        "gemini-flash-lite-latest",
      ],
    ],
    "google/gemini-3.5-flash",
    { context_window: 1_048_576, max_output: 65_536, capabilities: GEMINI, modalities: HEARS },
  ),
  // They talk and draw; what else they do, nobody says in one place.
  model(["gemini-2.5-flash-image"], "google/gemini-2.5-flash-image", { context_window: 32_768, max_output: 32_768 }),
  model(["gemini-3-pro-image", "gemini-3-pro-image-preview"], "google/gemini-3-pro-image-preview", {
    context_window: 131_072,
    max_output: 32_768,
  }),
  model(["gemini-embedding-001"], "google/gemini-embedding-001", {
    context_window: 2_048,
    capabilities: ["embeddings"],
    modalities: VECTORS,
  }),
  model(["gemini-embedding-2", "gemini-embedding-2-preview"], "google/gemini-embedding-2", {
    context_window: 8_192,
    capabilities: ["embeddings"],
    modalities: VECTORS,
  }),
  model(["imagen-3*", "imagen-4*"], null, { capabilities: ["images"], modalities: PICTURES }),

  // Mistral
  model(["mistral-large-2512", "mistral-large-latest"], "mistral/mistral-large-2512", {
    capabilities: OPEN_VISION,
    modalities: { input: ["text", "image"], output: ["text"] },
  }),
  model(
    ["mistral-small-2603", "mistral-small-2506", "mistral-small-2503", "mistral-small-latest"],
    "mistral/mistral-small-2603",
    {
      capabilities: OPEN_VISION,
      modalities: { input: ["text", "image"], output: ["text"] },
    },
  ),
  model(["mistral-medium*", "ministral*", "magistral*", "pixtral*"], "mistral/ministral-8b-2512", {
    capabilities: OPEN_VISION,
    modalities: { input: ["text", "image"], output: ["text"] },
  }),
  model(["codestral-2501", "codestral-2508", "codestral-latest"], "mistral/codestral-2508", {
    capabilities: [...OPEN_TEXT, "documents"],
    modalities: TEXT,
  }),
  model(["devstral*"], "mistral/devstral-2512", { capabilities: OPEN_VISION }),
  model(["mistral-embed", "codestral-embed*"], "mistral/mistral-embed", {
    capabilities: ["embeddings"],
    modalities: VECTORS,
  }),

  // Cohere
  model(["command-a", "command-a-reasoning", "command-a-translate"], null, {
    context_window: 256_000,
    max_output: 8_000,
    capabilities: [...TOOLS, "json_schema", "logprobs"],
    modalities: TEXT,
  }),
  model(["command-r", "command-r-plus", "command-r7b"], null, {
    context_window: 128_000,
    max_output: 4_000,
    capabilities: [...TOOLS, "json_schema", "logprobs"],
    modalities: TEXT,
  }),
  model(["embed-v4.0"], "cohere/embed-v4.0", { capabilities: ["embeddings"], modalities: VECTORS }),
  model(["embed-english*", "embed-multilingual*"], null, { capabilities: ["embeddings"], modalities: VECTORS }),

  // DeepSeek
  model(["deepseek-v4-pro", "deepseek-v4-flash", "deepseek-chat", "deepseek-reasoner"], "deepseek/deepseek-v4-pro", {
    context_window: 1_000_000,
    max_output: 384_000,
    capabilities: OPEN_TEXT,
    modalities: TEXT,
  }),
  model(
    ["deepseek-v3", "deepseek-v3.1", "deepseek-v3.1-terminus", "deepseek-v3.2", "deepseek-v3.2-exp", "deepseek-r1"],
    "deepseek/deepseek-v3.2",
    {
      context_window: 163_840,
      capabilities: OPEN_TEXT,
      modalities: TEXT,
    },
  ),

  // xAI
  model(["grok-4.5", "grok-4.6"], "x-ai/grok-4.5", { capabilities: OPEN_VISION, modalities: SEES }),
  model(["grok-4-fast*", "grok-4.1-fast*", "grok-4-1-fast*"], "x-ai/grok-4-1-fast-non-reasoning", {
    capabilities: OPEN_VISION,
    modalities: SEES,
  }),
  model(["grok-4.20*", "grok-4.3"], "x-ai/grok-4.3", { capabilities: OPEN_VISION, modalities: SEES }),
  model(["grok-4"], "x-ai/grok-4-0709", { capabilities: OPEN_VISION, modalities: SEES }),
  model(["grok-3", "grok-3-mini", "grok-3-fast", "grok-3-mini-fast"], "x-ai/grok-3", {
    capabilities: OPEN_TEXT,
    modalities: TEXT,
  }),
  model(["grok-code-fast-1"], "x-ai/grok-code-fast-1", { capabilities: OPEN_TEXT, modalities: TEXT }),

  // Meta
  model(["llama-3.3-70b*", "llama-3.1-*", "llama-3.2-1b*", "llama-3.2-3b*"], null, {
    context_window: 131_072,
    capabilities: OPEN_TEXT,
    modalities: TEXT,
  }),
  model(["llama-3.2-11b*", "llama-3.2-90b*"], null, {
    context_window: 131_072,
    capabilities: OPEN_VISION,
    modalities: { input: ["text", "image"], output: ["text"] },
  }),
  model(["llama-4-maverick*"], null, {
    context_window: 1_000_000,
    capabilities: OPEN_VISION,
    modalities: { input: ["text", "image"], output: ["text"] },
  }),
  model(["llama-4-scout*"], null, {
    context_window: 10_000_000,
    sources: ["models.dev", "book"],
    capabilities: OPEN_VISION,
    modalities: { input: ["text", "image"], output: ["text"] },
  }),

  // Qwen
  model(["qwen3-max", "qwen3-max-preview"], null, {
    context_window: 262_144,
    capabilities: OPEN_TEXT,
    modalities: TEXT,
  }),
  model(["qwen3-coder*"], null, { context_window: 1_000_000, capabilities: OPEN_TEXT, modalities: TEXT }),
  model(["qwen3-vl*", "qwen2.5-vl*", "qwen-vl*"], null, { capabilities: OPEN_VISION, modalities: SEES }),
  model(["qwen3-embedding*"], null, { capabilities: ["embeddings"], modalities: VECTORS }),
];

type Told = Partial<Pick<CatalogueModel, "context_window" | "max_output" | "capabilities" | "modalities" | "sources">>;

function model(names: string[], book: string | null, told: Told): CatalogueModel {
  return { names, ...(book !== null && { book }), sources: factsFor(names[0] ?? ""), ...told };
}

/** Where most of what is said of a family is from. */
function factsFor(name: string): string[] {
  if (name.startsWith("claude-")) return CLAUDE_FACTS;
  if (name.startsWith("gemini-") || name.startsWith("imagen-")) return GEMINI_FACTS;
  if (/^(?:gpt-(?!oss)|o\d|text-embedding-|tts-|whisper-)/.test(name)) return OPENAI_FACTS;
  return OPEN_FACTS;
}
