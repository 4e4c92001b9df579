import type { Usage } from "@sluicegate/contract";
import type { Call, Operation, ReplyFacts } from "../core/call.ts";
import type { GatewayError, ProviderFailure } from "../core/errors.ts";
import type { StreamPart } from "../core/stream-part.ts";
import { type Fields, isObject } from "./field-checks.ts";

/** An answer that carries an error, in a client's dialect. Headers are flat. */
export interface ErrorAnswer {
  status: number;
  headers: string[];
  body: string;
}

/** What one upstream wants different from the plain protocol: data of its preset, never a name. */
export interface Quirks {
  /** The only spelling of the output cap it takes; null: whatever the client sent. */
  maxTokensField: "max_tokens" | "max_completion_tokens" | null;
  /** It accepts `stream_options.include_usage`. Where it does not, usage comes anyway or never. */
  streamOptions: boolean;
  /** `completion_tokens` already holds the reasoning tokens; null: not known, the numbers have to tell. */
  reasoningInOutput: boolean | null;
}

/** What one event of an upstream's stream says, and what its bytes are for a same-dialect client. */
export interface EventReading {
  parts: StreamPart[];
  /** Holds nothing but usage: hidden from a client that did not ask for it. */
  usageOnly: boolean;
  /** The protocol's own end mark. */
  terminator: boolean;
}

/** Reads one upstream stream, event by event. Throws for an event that is not of the protocol. */
export interface StreamReader {
  read(data: string, eventName: string | null): EventReading;
}

/** What a finished answer is decorated with: the members of `gateway_metadata`. */
export type Metadata = Record<string, unknown>;

/** One wire protocol, spoken at both doors: by clients to the gateway, by the gateway to providers. */
export interface Protocol {
  readonly name: string;
  readonly operation: Operation;
  /** Path a client posts to. */
  readonly clientPath: string;
  /** Path behind a provider's base URL. */
  readonly upstreamPath: string;

  /** Decodes and checks a client's body. Throws GatewayError invalid_request with the path of the field at fault. */
  decodeRequest(raw: Buffer, header: (name: string) => string | undefined): Call;
  /** The error in this dialect's own shape, with the headers that go with it. */
  encodeError(error: GatewayError, requestId: string): ErrorAnswer;
  /** The one in-band event that says a stream failed after it began, terminator included. */
  encodeStreamError(error: GatewayError, requestId: string): Buffer;
  /** Bytes that keep a silent stream alive and mean nothing. */
  readonly keepalive: Buffer;
  /** Bytes that end a stream well, for an upstream that forgot them. */
  readonly terminator: Buffer;
  /** An event that carries `gateway_metadata` before the terminator. */
  encodeStreamMetadata(metadata: Metadata): Buffer;
  /** The answer's bytes with `gateway_metadata` added as the last member; every other byte stays. */
  decorateReply(body: Buffer, metadata: Metadata): Buffer;

  /** The same-dialect lane: the client's bytes with the model and what policy changes spliced in. */
  passRequest(call: Call, model: string, quirks: Quirks): Buffer;
  /** What a 200 JSON answer says. One that is broken, or holds an error, is a failure: with the usage it reports, if any. */
  readReply(body: Buffer, quirks: Quirks, nowMs: number): ReplyFacts | FailedReply;
  streamReader(quirks: Quirks): StreamReader;
  /**
   * The class of an error answer (or of an error inside a stream, `body` being the event's JSON text).
   * `nowMs` is the wall clock: some answers say until when they want to be left alone.
   */
  classifyFailure(status: number, headers: Record<string, string>, body: Buffer, nowMs: number): ProviderFailure;
}

/** A 200 that is no answer. What it used is billed all the same. */
export interface FailedReply {
  failure: ProviderFailure;
  usage: Usage | null;
}

/** Lays a later report over an earlier one, field by field: absent counts stay. Returns `into`. */
export function mergeUsage(into: Usage, report: Partial<Usage>): Usage {
  for (const field in report) {
    const count = report[field as keyof Usage];
    if (count !== undefined) into[field as keyof Usage] = count;
  }
  return into;
}

/** A 200 whose body is broken. */
export function invalidReply(message: string): FailedReply {
  return {
    failure: { class: "invalid_response", message, httpStatus: 200, retryAfterMs: null, ambiguous: true },
    usage: null,
  };
}

/** A body as a JSON object; null for anything else. */
export function replyObject(body: Buffer): Fields | null {
  try {
    const reply: unknown = JSON.parse(body.toString("utf8"));
    return isObject(reply) ? reply : null;
  } catch {
    return null;
  }
}

/** More tokens than any call can have: a count above it is a fault of the provider's, and would be one of the ledger's. */
const TOKENS_MAX = 1e12;

/** A count a provider reports, as a whole number; undefined for what is none. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= TOKENS_MAX ? Math.round(value) : undefined;
}
