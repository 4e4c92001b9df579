import type { Call } from "../core/call.ts";
import type { CanonicalRequest, Reply } from "../core/message.ts";
import type { StreamPart } from "../core/stream-part.ts";
import type { Quirks, Target } from "./protocol.ts";

/** What an encoder made of a canonical request. */
export interface Encoded {
  body: Buffer;
  /**
   * Hints that found no place, for `x-sluicegate-dropped`: paths of foreign fields, and canonical names, which become the client's
   * words by `fieldNames`: reasoning, reasoning_history, cache_control, parallel_tool_calls, metadata, user, service_tier, verbosity,
   * prompt_cache_key, image_detail, strict, name.
   */
  dropped: string[];
  /** Headers the body needs, flat. */
  headers?: string[];
}

/** What an answer in a client's dialect is made with. */
export interface Shown {
  /** The client's own call; its dialect may look into its body. */
  call: Call;
  requestId: string;
  /** Epoch seconds. */
  createdS: number;
  /** The concrete model, where the answer itself does not say. */
  model: string;
}

/** Writes one stream in a client's dialect, in exactly the order its SDKs expect. One for each attempt. */
export interface StreamWriter {
  /** Events that say this part; null when there is nothing to say yet. Never called with `error`. */
  write(part: StreamPart): Buffer | null;
  /** What ends the stream well: closing events, usage, metadata, end mark. */
  end(metadata: Record<string, unknown> | null): Buffer;
}

/**
 * The way of one protocol to and from a canonical form. Two protocols translate into each other when they share the family.
 * `Request` and `Answer` are the family's own; `translate.ts` pairs only ends of one family.
 */
export interface TranslationOf<Family extends string, Request, Answer> {
  readonly family: Family;
  /** Where this dialect keeps a canonical field, for errors and headers: `{ stop: "generationConfig.stopSequences" }`. Absent: the canonical name. */
  readonly fieldNames: Readonly<Record<string, string>>;
  /** The client's call in canonical form. Throws GatewayError invalid_request with the path of what makes no sense. */
  toCanonical(call: Call): Request;
  /** Fields of meaning in the request that this protocol cannot say to the target: canonical names, or paths of foreign fields. */
  inexpressible(request: Request, target: Target): string[];
  /** The upstream's body. `inexpressible` fields that are still there (a route that drops them) are left out and listed. */
  fromCanonical(request: Request, target: Target): Encoded;
  /** What a good JSON answer of this protocol says. */
  decodeReply(body: Buffer, quirks: Quirks): Answer;
  /** The answer in this protocol, as its clients expect it. */
  encodeReply(answer: Answer, shown: Shown): Buffer;
}

/** The chat family: streams too. */
export interface ChatTranslation extends TranslationOf<"chat", CanonicalRequest, Reply> {
  streamWriter(shown: Shown): StreamWriter;
  /** Only clients speak it (legacy completions): nothing is ever translated towards it. */
  readonly clientOnly?: boolean;
}

/** Texts to be turned into vectors. */
export interface EmbeddingRequest {
  /** One vector each. Token arrays cannot be translated. */
  texts: string[];
  dimensions: number | null;
  /** What the vectors are for, in Gemini's words (`RETRIEVAL_QUERY`, …). A hint. */
  task: string | null;
  title: string | null;
  user: string | null;
  foreign: CanonicalRequest["foreign"];
}

/** Vectors, in the order of the texts. */
export interface EmbeddingReply {
  vectors: number[][];
  model: string | null;
  inputTokens: number | null;
}

/** The embeddings family. */
export type EmbeddingTranslation = TranslationOf<"embeddings", EmbeddingRequest, EmbeddingReply>;

/**
 * The count family: how many tokens a request would be. Nothing is translated between two counting APIs: a deployment whose
 * provider speaks the client's own gets the call passed through, for any other the gateway counts the canonical request itself
 * and answers with `encodeCount`. Nothing is spent: `readReply` of a counting protocol reports `noUsage()`, never null.
 */
export interface CountTranslation {
  readonly family: "count";
  /** As of the chat family: what would be sent. Throws GatewayError invalid_request with the path of what makes no sense. */
  toCanonical(call: Call): CanonicalRequest;
  /** The count in this dialect: `{ "input_tokens": 12 }`, `{ "totalTokens": 12 }`. */
  encodeCount(tokens: number, shown: Shown): Buffer;
}

/** Any family's way. */
export type Translation = ChatTranslation | EmbeddingTranslation | CountTranslation;
