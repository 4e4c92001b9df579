import type { Usage } from "@sluicegate/contract";
import type { FinishReason, Signature } from "./stream-part.ts";

/** "All up to here may be cached by the provider": Anthropic's `cache_control`, and what others make of it. A hint. */
export interface CacheMarker {
  /** How long; null: the provider's default (5 minutes). */
  ttl: "5m" | "1h" | null;
}

/** Where the bytes of an image, a document or a sound are. */
export type MediaSource =
  | { kind: "base64"; data: string; mediaType: string }
  | { kind: "url"; url: string; mediaType: string | null }
  /** An upload at one vendor: only deployments that speak `dialect` know it. */
  | { kind: "file"; id: string; dialect: string };

/** Plain text. Empty text is kept here; a protocol whose providers refuse it leaves it out. */
export interface TextBlock {
  type: "text";
  text: string;
  cache?: CacheMarker;
}

/** A picture. */
export interface ImageBlock {
  type: "image";
  source: MediaSource;
  /** OpenAI's `low`, `high`, `auto`. A hint. */
  detail?: string;
  cache?: CacheMarker;
}

/** A PDF or a text file. */
export interface DocumentBlock {
  type: "document";
  source: MediaSource | { kind: "text"; text: string };
  /** File name or title. */
  title?: string;
  /** Anthropic's note to the model about the document. */
  context?: string;
  /** The model is asked to cite it. */
  citations?: boolean;
  cache?: CacheMarker;
}

/** Spoken input. */
export interface AudioBlock {
  type: "audio";
  source: MediaSource;
  cache?: CacheMarker;
}

/** The model calls a tool. */
export interface ToolCallBlock {
  type: "tool_call";
  id: string;
  name: string;
  /** Parsed arguments of a function; `{}` for none. Undefined for a custom tool, and where the text is no JSON object. */
  arguments?: Record<string, unknown>;
  /** The arguments as text: as they came, or the input of a custom tool. */
  text: string;
  /** A custom (free text) tool rather than a function. */
  custom?: true;
  /** Gemini's thought signature on a call. */
  signature?: Signature;
  cache?: CacheMarker;
}

/** What a tool answered. */
export interface ToolResultBlock {
  type: "tool_result";
  callId: string;
  /** The tool's name, looked up from the call it answers; null when the history holds no such call. */
  name: string | null;
  content: (TextBlock | ImageBlock | DocumentBlock)[];
  isError: boolean;
  custom?: true;
  cache?: CacheMarker;
}

/** What the model thought. A block without text and signature says nothing and is left out. */
export interface ReasoningBlock {
  type: "reasoning";
  text: string;
  /** Proof of the text, or of the call that follows, for the provider that made it. */
  signature?: Signature;
  /** Thoughts only their provider can read: Anthropic's redacted_thinking, Responses' encrypted_content. */
  encrypted?: Signature;
}

/** The model declines. */
export interface RefusalBlock {
  type: "refusal";
  text: string;
}

/** Something only one dialect can say (server tool blocks, search results): kept for a deployment that speaks it. */
export interface OpaqueBlock {
  type: "opaque";
  dialect: string;
  /** The client's path of it, for an error: `messages[2].content[0]`. */
  path: string;
  value: unknown;
}

/** One piece of a message. */
export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | AudioBlock
  | ToolCallBlock
  | ToolResultBlock
  | ReasoningBlock
  | RefusalBlock
  | OpaqueBlock;

/**
 * One message. Consecutive messages of one role are as the client sent them; a protocol that wants alternation merges.
 * `system` may stand anywhere (`developer` counts as it). Tool results stand in `tool` messages, one or more in each.
 */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  /** Participant name. */
  name?: string;
  blocks: Block[];
}

/** A tool the model may call. */
export type Tool =
  | {
      type: "function";
      name: string;
      description?: string;
      /** JSON Schema; null: no parameters. */
      parameters: Record<string, unknown> | null;
      strict?: boolean;
      cache?: CacheMarker;
    }
  /** Free-text tool. `format` is OpenAI's grammar, flat as in Responses: `{ type, syntax, definition }`. */
  | { type: "custom"; name: string; description?: string; format?: unknown }
  /** Run by the provider (web search, code execution): a matter of one dialect. */
  | { type: "hosted"; dialect: string; path: string; value: unknown };

/** Must the model call a tool, and which? */
export type ToolChoice =
  | { type: "auto" | "none" | "required" }
  | { type: "named"; name: string }
  | { type: "allowed"; mode: "auto" | "required"; names: string[] };

/** What form the answer must have. */
export type ResponseFormat =
  | { type: "json_object" }
  | {
      type: "json_schema";
      name: string;
      description?: string;
      schema: Record<string, unknown>;
      strict?: boolean;
    };

/** How hard to think: effort and budget are two words for one hint. */
export interface Reasoning {
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; null: not said. */
  effort: string | null;
  /** Token budget; null: not said. 0 means off. */
  budgetTokens: number | null;
  /** Whether the thoughts (or a summary) are to be shown; null: not said. */
  visible: boolean | null;
}

/** Fields that change the answer: a deployment that cannot express one leaves the chain (ruling 17). */
export type MeaningField =
  | "tools"
  | "custom_tools"
  | "tool_choice"
  | "response_format"
  | "stop"
  | "n"
  | "logprobs"
  | "images"
  | "documents"
  | "audio"
  | "tool_result_images"
  | "max_output_tokens"
  | "temperature"
  | "top_p"
  | "top_k"
  | "frequency_penalty"
  | "presence_penalty"
  | "seed";

/** A field of the client's dialect that has no place in the canonical form. */
export interface ForeignField {
  /** In the client's words: `logit_bias`, `tools[2]`, `anthropic-beta`. */
  path: string;
  /** It changes the answer: only a deployment of the same dialect can serve it. Otherwise it is dropped and listed. */
  meaning: boolean;
}

/**
 * A chat request between the two doors (SPEC LIFE-3). Null: the client did not say. Nothing in it is a provider's name;
 * each attempt encodes it anew, and nobody writes to it.
 */
export interface CanonicalRequest {
  messages: Message[];
  tools: Tool[];
  toolChoice: ToolChoice | null;
  parallelToolCalls: boolean | null;
  responseFormat: ResponseFormat | null;
  maxOutputTokens: number | null;
  temperature: number | null;
  topP: number | null;
  topK: number | null;
  frequencyPenalty: number | null;
  presencePenalty: number | null;
  seed: number | null;
  n: number;
  logprobs: { top: number } | null;
  stop: string[];
  reasoning: Reasoning | null;
  /** The client's name for its end user. */
  user: string | null;
  metadata: Record<string, unknown> | null;
  serviceTier: string | null;
  verbosity: string | null;
  promptCacheKey: string | null;
  stream: boolean;
  /** What of the client's body is not above. */
  foreign: ForeignField[];
}

/** One answer (of `n`). */
export interface Choice {
  blocks: Block[];
  finish: FinishReason | null;
  /** The stop sequence that was hit, where it is known. */
  stopSequence: string | null;
  /** OpenAI's token entries, where they were asked for. */
  logprobs: unknown[] | null;
  annotations: Annotation[];
}

/** A whole JSON answer (SPEC LIFE-4). */
export interface Reply {
  id: string | null;
  model: string | null;
  choices: Choice[];
  usage: Usage | null;
}

/** Something that stands beside the text of an answer. */
export type Annotation =
  | { type: "url_citation"; url: string; title: string | null; start: number | null; end: number | null }
  /** A picture or a sound the model made. */
  | { type: "media"; mediaType: string; data: string }
  /** What only one dialect knows. */
  | { type: "opaque"; dialect: string; value: unknown };
