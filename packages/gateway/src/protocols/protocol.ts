import { isAscii } from "node:buffer";
import { noUsage, type Usage } from "@sluicegate/contract";
import type { AsciiBody, Call, Operation, ReplyFacts } from "../core/call.ts";
import type { GatewayError, ProviderFailure } from "../core/errors.ts";
import type { MeaningField } from "../core/message.ts";
import type { Bytes } from "../core/pieces.ts";
import type { EventSplitter } from "../core/stream-event.ts";
import type { StreamPart } from "../core/stream-part.ts";
import { type Fields, isObject } from "./field-checks.ts";
import type { Translation } from "./translation.ts";

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
  /** Fields of meaning the upstream refuses although its protocol has them: such a call goes elsewhere when translated. */
  refuses?: readonly MeaningField[];
  /** The same for some models only. */
  refusesFor?: Readonly<Partial<Record<MeaningField, RegExp>>>;
  /** False: of the forms of an answer it takes `json_object` alone. */
  jsonSchema?: false;
  /** What a translated chat request may hold beyond the family's common ground, and for which models. Absent: nothing. */
  takes?: Readonly<Partial<Record<ChatExtra, true | RegExp>>>;
  /** Words it knows for a reasoning effort, from least to most; absent: low, medium, high. */
  efforts?: readonly string[];
  /** Stop sequences it takes; absent: 4. */
  stopMax?: number;
  /** The highest temperature it takes; absent: 2. */
  temperatureMax?: number;
  /** It refuses whatever it does not know: what it does, by the name of the protocol. Absent: unknown members are its own business. */
  strict?: Readonly<Record<string, StrictBody>>;
}

/** The whole of a request body that a strict server takes: a client's own bytes are held to it, too. */
export interface StrictBody {
  /** Its top-level members. */
  members: ReadonlySet<string>;
  /** Its names for members of the dialect that it calls otherwise. */
  renames: ReadonlyMap<string, string>;
  /** Paths of what changes the answer, is known to it, and has no place in the canonical form. */
  keeps: RegExp;
  messages?: StrictMessages;
}

/** The same for chat messages. */
export interface StrictMessages {
  /** By role. */
  members: Readonly<Record<string, ReadonlySet<string>>>;
  /** The form of a call's id, and how many letters and digits stand for one that is of another. */
  callId: { fits: RegExp; chars: number };
}

/**
 * What only some servers of the OpenAI family take, by the field's name; `history_*` are members of earlier assistant
 * messages, `text_parts` is text as an array of parts, `google_signatures` is `extra_content` on calls.
 */
export type ChatExtra =
  | "custom_tools"
  | "allowed_tools"
  | "parallel_tool_calls"
  | "strict"
  | "cache_control"
  | "text_parts"
  | "document_urls"
  | "top_k"
  | "max_completion_tokens"
  | "reasoning_effort"
  | "reasoning"
  | "thinking"
  | "verbosity"
  | "user"
  | "service_tier"
  | "prompt_cache_key"
  | "history_reasoning_content"
  | "history_reasoning"
  | "history_reasoning_details"
  | "google_signatures";

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
  /** Absent: every event has to be read. */
  readonly repeats?: RepeatedEvents;
}

/** Knows again the events that are, byte for byte, the one read last but for a plain text, so that they need not be read. */
export interface RepeatedEvents {
  /** Takes the event read last for the pattern, if it is fit for one. `raw`: all its bytes. */
  learn(raw: Buffer): void;
  /** Where such an event ends that begins at `at`; -1: none does. Such an event ends with LF. */
  endOf(bytes: Buffer, at: number): number;
  /** Characters of the text of the event found last, which stands in `bytes`. */
  charsIn(bytes: Buffer): number;
  /** What `read` would make of the event found last. */
  readingOf(bytes: Buffer): EventReading;
}

/** How the body of a stream is cut into events. */
export interface Framing {
  /** The content type such a body comes under. */
  contentType: RegExp;
  splitter(): EventSplitter;
}

/** What a finished answer is decorated with: the members of `gateway_metadata`. */
export type Metadata = Record<string, unknown>;

/** Content type of server-sent events. */
export const EVENT_STREAM = "text/event-stream; charset=utf-8";

/** A client's request as a protocol decodes it. */
export interface ClientRequest {
  raw: Buffer;
  header: (name: string) => string | undefined;
  /** False: no header is the platform's (`x-sluicegate-*`). Absent: each has to be asked for. */
  platformHeaders?: boolean;
  /** What the path said, for dialects that put the model there. */
  path: PathFacts;
}

/** What a client's path says beyond naming the protocol. */
export interface PathFacts {
  /** The alias, decoded; undefined where the body names it. */
  alias?: string;
  /** The path alone says whether a stream is wanted (Gemini). */
  stream?: boolean;
  /** Query without the `?`, and without a credential; empty for none. */
  query: string;
  /** A credential the query held (Gemini's `key`). Looked at by authentication alone: it never becomes part of a call. */
  credential?: string;
}

/** One wire protocol, spoken at both doors: by clients to the gateway, by the gateway to providers. */
export interface Protocol {
  readonly name: string;
  readonly operation: Operation;
  /** The word for it in a deployment's `api`. */
  readonly api: string;
  /** Exact paths a client posts to. */
  readonly clientPaths: readonly string[];
  /** Where its SDKs look for the request's id, beside `x-request-id`. */
  readonly requestIdHeader?: string;
  /** For paths that hold the alias: what this path says, or null when it is not this protocol's. */
  matchPath?(path: string, query: string): PathFacts | null;
  /** Path (with query, if any) behind a provider's base URL. */
  upstreamPath(call: Call, model: string): string;
  /** Content type of the body that goes upstream, where it is not JSON. */
  contentType?(call: Call): string;
  /** Headers of the dialect that go with every call, flat: versions and, for a client that speaks it itself, its betas. */
  upstreamHeaders?(call: Call, sameDialect: boolean): string[];

  /** Decodes and checks a client's body. Throws GatewayError invalid_request with the path of the field at fault. */
  decodeRequest(request: ClientRequest): Call;
  /** The error in this dialect's own shape, with the headers that go with it. */
  encodeError(error: GatewayError, requestId: string): ErrorAnswer;
  /**
   * The one in-band event that says a stream failed after it began, terminator included. `begun`: something of the answer
   * has gone out, and not only signs of life (a dialect whose stream is one JSON value goes on differently).
   */
  encodeStreamError(error: GatewayError, requestId: string, call: Call, begun: boolean): Buffer;
  /** How a stream to this client looks. */
  streamShape(call: Call): StreamShape;
  /** Bytes that end a stream well, for an upstream that forgot them; empty where the dialect has no end mark. */
  readonly terminator: Buffer;
  /** The end of a stream with `gateway_metadata` in its last event. `held`: the upstream's own end mark, null if it had none. */
  endWithMetadata(held: Buffer | null, metadata: Metadata, call: Call): Buffer;
  /**
   * The answer with `gateway_metadata`, here in JSON, added as the last member; every other byte stays. Null: it has no place
   * for them. All of it is text of Latin-1: bytes, one a character.
   */
  decorateReply(body: string, metadata: string): string | null;

  /**
   * The same-dialect lane: the client's bytes with the model and what policy changes spliced in. What a strict upstream
   * refuses is taken out, and its names added to `dropped`.
   */
  passRequest(call: Call, target: Target, dropped?: Set<string>): Bytes;
  /**
   * For upstreams that are stricter than the dialect: can the client's bytes be mended in place? If not, its call is translated,
   * there and back. Absent: always.
   */
  splices?(call: Call): boolean;
  /** What goes back to the client differs from what came: ids that carry their deployment, another framing. Null: nothing. */
  dress?(call: Call, deploymentToken: string, accountToken: string): Dresser | null;
  /** What a 200 answer says. One that is broken, or holds an error, is a failure: with the usage it reports, if any. */
  readReply(body: Buffer, quirks: Quirks, nowMs: number, contentType: string): ReplyFacts | FailedReply;
  /** Puts what a good answer says in its headers alone into its body, where all that reads it finds it. */
  foldHeaders?(body: Buffer, headers: Readonly<Record<string, string>>): Buffer;
  streamReader(quirks: Quirks): StreamReader;
  /** How a stream from upstream is cut into events, where that is not server-sent events. */
  readonly framing?: Framing;
  /** The smallest cap on output tokens that its servers take; absent: 1. */
  readonly leastOutputTokens?: number;
  /** Models that cannot stream answer whole where a stream was asked for, and clients of the dialect take that. */
  readonly mayAnswerWhole?: boolean;
  /**
   * The class of an error answer (or of an error inside a stream, `body` being the event's JSON text).
   * `nowMs` is the wall clock: some answers say until when they want to be left alone.
   */
  classifyFailure(status: number, headers: Record<string, string>, body: Buffer, nowMs: number): ProviderFailure;

  /** The way to and from the canonical form; null: only its own dialect is served. */
  readonly translation: Translation | null;
}

/** How a dialect's stream is framed towards a client. */
export interface StreamShape {
  contentType: string;
  /** Bytes that keep a silent stream alive and mean nothing. */
  keepalive: Buffer;
}

/** Changes the bytes of a same-dialect answer on their way to the client. One for each attempt. */
export interface Dresser {
  reply(body: Buffer): Buffer;
  event(raw: Buffer, data: string | null): Buffer;
  /** Bytes after the last event. */
  end(): Buffer | null;
}

/** Whom a request is written for. */
export interface Target {
  /** The provider's name of the model. */
  model: string;
  /** The model's own name, where the provider's may say nothing of it (an Azure deployment); absent: it does. */
  traitsOf?: string;
  quirks: Quirks;
  /** The most the model can write, for protocols that must be told a cap; null: not known. */
  maxOutputTokens: number | null;
  /** The account's token; absent where nothing is sent. Thoughts sealed by another account are of no use to it. */
  account?: string;
}

/** A 200 that is no answer. What it used is billed all the same. */
export interface FailedReply {
  failure: ProviderFailure;
  usage: Usage | null;
}

/** False for a report without a token in it: some send zeros until they have counted, or once more behind the count. */
export function countsAnything(report: Partial<Usage>): boolean {
  for (const key in report) if ((report[key as keyof Usage] ?? 0) > 0) return true;
  return false;
}

/** What a whole answer reports; null where it holds no count, so that its use is estimated and not taken for none. */
export function wholeUsage(report: Partial<Usage> | null | undefined): Usage | null {
  return report && holdsCount(report) ? mergeUsage(noUsage(), report) : null;
}

/** False for a report that says nothing, not even that nothing was used. */
export function holdsCount(report: Partial<Usage>): boolean {
  return report.input_tokens !== undefined || report.output_tokens !== undefined;
}

/** Lays a later report over an earlier one, field by field: absent counts stay, and one of nothing erases none. Returns `into`. */
export function mergeUsage(into: Usage, report: Partial<Usage>): Usage {
  if (!countsAnything(report)) return into;
  into.input_tokens = report.input_tokens ?? into.input_tokens;
  into.cached_input_tokens = report.cached_input_tokens ?? into.cached_input_tokens;
  into.cache_write_tokens = report.cache_write_tokens ?? into.cache_write_tokens;
  into.cache_write_1h_tokens = report.cache_write_1h_tokens ?? into.cache_write_1h_tokens;
  into.output_tokens = report.output_tokens ?? into.output_tokens;
  into.reasoning_tokens = report.reasoning_tokens ?? into.reasoning_tokens;
  return into;
}

/** A 200 whose body is broken. */
export function invalidReply(message: string): FailedReply {
  return {
    failure: { class: "invalid_response", message, httpStatus: 200, retryAfterMs: null, ambiguous: true },
    usage: null,
  };
}

/** A body as text, where it is all ASCII; null for any other. */
export function asciiBody(body: Buffer): AsciiBody | null {
  // One character a byte is decoded the fastest.
  return isAscii(body) ? { body, text: body.toString("latin1") } : null;
}

/** A body as a JSON object; null for anything else. */
export function replyObject(body: Buffer, ascii: AsciiBody | null = null): Fields | null {
  return objectIn(ascii?.text ?? body.toString("utf8"));
}

/** The JSON object that a text is; null for anything else. */
export function objectIn(text: string): Fields | null {
  try {
    const reply: unknown = JSON.parse(text);
    return isObject(reply) ? reply : null;
  } catch {
    return null;
  }
}

/** The data of a stream's event as a JSON object. Throws, without quoting it, for anything else. */
export function eventObject(data: string): Fields {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    // Its own words would quote the answer into the log.
    throw new Error("a stream event is not JSON");
  }
  if (!isObject(event)) throw new Error("a stream event is no JSON object");
  return event;
}

/** More tokens than any call can have: a count above it is a fault of the provider's, and would be one of the ledger's. */
const TOKENS_MAX = 1e12;

/** A count a provider reports, as a whole number; undefined for what is none. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= TOKENS_MAX ? Math.round(value) : undefined;
}
