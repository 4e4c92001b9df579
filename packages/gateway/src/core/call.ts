import type { Usage } from "@sluicegate/contract";
import type { FinishReason } from "./stream-part.ts";

/** What the caller wants done: which endpoint's semantics hold. */
export type Operation =
  | "chat"
  | "embeddings"
  | "completions"
  | "moderations"
  | "images"
  | "speech"
  | "transcription"
  | "count_tokens";

/** What a request may need of a deployment (ruling 8), in the words of `capabilities`. */
export const CAPABILITIES = [
  ...(["tools", "parallel_tools", "vision", "documents", "audio", "json_schema", "logprobs", "n"] as const),
  ...(["embeddings", "images", "speech", "transcription"] as const),
] as const;

/** One of them. */
export type Capability = (typeof CAPABILITIES)[number];

/** Fields of the platform, sent under `gateway` or as `x-sluicegate-*` headers. Absent is undefined. */
export interface PlatformFields {
  task_class?: string;
  classification?: string;
  /** A region, or a group of them, that the data has to stay in. */
  residency?: string;
  session_id?: string;
  user?: string;
  agent?: string;
  application?: string;
  template_version?: string;
  tags?: Record<string, string>;
  latency_budget_ms?: number;
  /** A second call may be made when the first one takes long. */
  hedge?: boolean;
  priority?: "high" | "normal" | "low";
  side_effecting?: boolean;
  cacheable?: boolean;
  fallback?: boolean;
  retry_after_tool_results?: boolean;
}

/** A stretch of bytes: from `start` up to `end`, which is not in it. */
export interface Place {
  start: number;
  end: number;
}

/** Where a JSON body's `model` stands. */
export interface ModelPlace extends Place {
  /** The whole body as text, where it is short and all ASCII: a byte a character. Null: it is not. */
  text: string | null;
}

/** Where one member of a JSON object stands in its bytes. */
export interface Member {
  key: string;
  keyStart: number;
  keyEnd: number;
  valueStart: number;
  valueEnd: number;
}

/** One decoded client request. The raw bytes stay at hand, so that a same-dialect upstream gets them unchanged. */
export interface Call {
  /** Name of the client's protocol, for example `openai-chat`. */
  dialect: string;
  operation: Operation;
  /** What the client asked for: an alias, or `provider/model`. */
  alias: string;
  stream: boolean;
  needs: ReadonlySet<Capability>;
  /** The client's own cap on output tokens, every choice counted once. */
  maxOutputTokens: number | null;
  choices: number;
  /** Rough number of input tokens, from bytes: never zero, never exact. */
  inputTokensEstimate: number;
  /** The request lets the provider shorten what is too long: none is refused here for its length. */
  mayBeShortened?: boolean;
  /** The conversation already holds the result of a tool: repeating the call may repeat its effect. */
  holdsToolResults: boolean;
  /** The request asks for reasoning, so its first token may take long. */
  reasons: boolean;
  /** The client asked to see usage in the stream. */
  showsUsage: boolean;
  platform: PlatformFields;
  /** What the path said. */
  path: { readonly query: string };
  /** Request headers that mean something in the dialect (versions, betas), lower case. */
  dialectHeaders: Readonly<Record<string, string>>;
  /** A provider's id in the request belongs to this deployment (its token): nobody else can serve it (ruling 23). */
  pinnedTo: string | null;
  /** The request body as it came. */
  raw: Buffer;
  /** The same, parsed. Owned by the dialect's protocol; nobody else looks inside. */
  body: Record<string, unknown>;
  /** Where its top-level members stand in `raw`, so that one can be spliced without writing the rest again; null: not looked for. */
  members: readonly Member[] | null;
  /** Where the value of the one `model` among them stands, if that is known. */
  modelAt: ModelPlace | null;
}

/** What a JSON answer says, as far as routing, money and the ledger care. */
export interface ReplyFacts {
  model: string | null;
  usage: Usage | null;
  finishReason: FinishReason | null;
  /** Characters of output, for an estimate where usage is missing. */
  outputChars: number;
  /** The answer as text, where its reader had to make it and what it is shown with can have use of it. */
  ascii?: AsciiBody | null;
}

/** A body that is all ASCII, as text: a character a byte. */
export interface AsciiBody {
  readonly body: Buffer;
  readonly text: string;
}
