import type { ErrorClass, ErrorCode, Usage } from "@sluicegate/contract";
import { type ChatSource, PRICE, UPSTREAM_MODEL } from "./chat-sources.ts";
import { responseBytes, type TrafficRecord } from "./replay-server.ts";

/*
 * What a recorded exchange has to come to, read from its bytes by rules of its own (the traffic folder's README): nothing here
 * shares code with what is under test.
 */

type Json = Record<string, unknown>;

const DONE = "data: [DONE]\n\n";

/** One event of a recorded stream. */
export interface RecordedEvent {
  /** With the blank line that ends it. */
  raw: string;
  /** Null for a block of comments. */
  data: string | null;
  json: Json | null;
}

/** A recorded stream, cut at its blank lines. */
export function eventsOf(text: string): RecordedEvent[] {
  return text.split(/(?<=(?:\r\n|\n)(?:\r\n|\n))/).map((raw) => {
    const data = raw
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.replace(/^data: ?/, ""));
    const joined = data.length === 0 ? null : data.join("\n");
    return { raw, data: joined, json: joined?.startsWith("{") ? (JSON.parse(joined) as Json) : null };
  });
}

/** What happens to a streamed answer. */
export interface ExpectedStream {
  /** Up to where an answer goes to the client unchanged. */
  bytes: string;
  /** The JSON of the event in which the provider reports an error. */
  error: Json | null;
}

/** The stream as a client sees it: unchanged, less the usage-only chunk where it did not ask, with an end mark in any case. */
export function expectedStream(text: string, showsUsage: boolean): ExpectedStream {
  let bytes = "";
  let finished = false;
  for (const event of eventsOf(text)) {
    if (event.data?.trim() === "[DONE]") return { bytes: bytes + event.raw, error: null };
    // Behind a finish reason the answer is there, whatever is said about it.
    if (event.json?.["error"] && !finished) {
      return { bytes: `${bytes}data: ${event.data}\n\n${DONE}`, error: event.json };
    }
    if (!showsUsage && isUsageOnly(event)) continue;
    finished ||= /"finish_reason": ?"/.test(event.raw);
    bytes += event.raw;
  }
  const blankLine = /(?:\r?\n){2}$/.test(bytes) ? "" : bytes.endsWith("\n") ? "\n" : "\n\n";
  return { bytes: bytes + blankLine + DONE, error: null };
}

function isUsageOnly({ json }: RecordedEvent): boolean {
  return Array.isArray(json?.["choices"]) && json["choices"].length === 0 && objectAt(json, "usage") !== null;
}

/** What the row of an exchange has to say. */
export interface ExpectedFacts {
  /** Null where the provider reported none. */
  usage: Usage | null;
  finishReason: string | null;
  model: string | null;
}

/** Usage, finish reason and model of an answer, whole or streamed. */
export function expectedFacts(record: TrafficRecord, source: ChatSource): ExpectedFacts {
  const bodies = bodiesOf(record);
  const choices = bodies
    .flatMap((body) => (Array.isArray(body["choices"]) ? (body["choices"] as Json[]) : []))
    .filter((choice) => (choice["index"] ?? 0) === 0);
  const reports = bodies.flatMap((body) => [objectAt(body, "usage"), objectAt(objectAt(body, "x_groq"), "usage")]);
  const last = reports.filter((report) => report !== null).at(-1);
  return {
    usage: last ? normalUsage(last, source) : null,
    finishReason: finishReason(choices),
    model: bodies.map((body) => body["model"]).find((model): model is string => !!model) ?? null,
  };
}

function bodiesOf(record: TrafficRecord): Json[] {
  if (record.stream) return eventsOf(responseBytes(record).toString("utf8")).flatMap(({ json }) => json ?? []);
  return [JSON.parse(responseBytes(record).toString("utf8")) as Json];
}

function finishReason(choices: Json[]): string | null {
  const word = choices.map((choice) => choice["finish_reason"]).find(Boolean);
  const calls = choices.some((choice) => {
    const said = objectAt(choice, "message") ?? objectAt(choice, "delta");
    return Array.isArray(said?.["tool_calls"]) && said["tool_calls"].length > 0;
  });
  if (word === "function_call" || (calls && (!word || word === "stop"))) return "tool_calls";
  return typeof word === "string" ? word : null;
}

/** The table of the traffic README, for this family. */
function normalUsage(usage: Json, source: ChatSource): Usage {
  const inputDetails = objectAt(usage, "prompt_tokens_details");
  const input = number(usage["prompt_tokens"]);
  const completion = number(usage["completion_tokens"]);
  const reasoning = number(objectAt(usage, "completion_tokens_details")?.["reasoning_tokens"]);
  const total = number(usage["total_tokens"]);
  // Every spelling of "read from the cache" says the same where several stand side by side.
  const cached = Math.min(
    input,
    Math.max(
      number(inputDetails?.["cached_tokens"]),
      number(usage["prompt_cache_hit_tokens"]),
      number(usage["num_cached_tokens"]),
      number(usage["cached_tokens"]),
    ),
  );
  const written = Math.max(number(inputDetails?.["cache_write_tokens"]), number(usage["cache_creation_input_tokens"]));
  const beside = source.reasoning === "outside" || (source.reasoning === "by numbers" && reasoning > completion);
  const sum = beside ? completion + reasoning : Math.max(completion, reasoning);
  return {
    input_tokens: input,
    cached_input_tokens: cached,
    cache_write_tokens: Math.min(written, input - cached),
    cache_write_1h_tokens: 0,
    output_tokens: total > input + completion ? total - input : sum,
    reasoning_tokens: reasoning,
  };
}

/** Micro-USD at PRICE: in whole nano-USD, then rounded half up. */
export function expectedCost(usage: Usage): number {
  const nano = (usdPerMillion: number): number => Math.round(usdPerMillion * 1_000);
  const plain = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens;
  const sum =
    plain * nano(PRICE.input) +
    usage.cached_input_tokens * nano(PRICE.cached_input) +
    usage.cache_write_tokens * nano(PRICE.cache_write) +
    usage.output_tokens * nano(PRICE.output);
  return Math.floor((sum + 500) / 1_000);
}

/** What an error answer has to come to (INTERFACE, Errors; ruling 18). */
export interface ExpectedFailure {
  class: ErrorClass;
  status: number;
  code: ErrorCode;
  /** The provider's own body reaches the client. */
  verbatim: boolean;
}

/** By status and code; only for what these recordings hold. */
export function expectedFailure(status: number, code: unknown): ExpectedFailure {
  const refused = (kind: ErrorClass, as: ErrorCode, shown = 400): ExpectedFailure => ({
    class: kind,
    status: shown,
    code: as,
    verbatim: true,
  });
  const failed = (kind: ErrorClass, shown = 502, as: ErrorCode = "all_providers_failed"): ExpectedFailure => ({
    class: kind,
    status: shown,
    code: as,
    verbatim: false,
  });
  switch (status) {
    case 400:
      // The model wrote a call that does not fit: worth another try, and clients match on the body.
      if (code === "tool_use_failed") return refused("provider_error", "invalid_request");
      if (code === "content_filter") return refused("content_filtered", "content_filter");
      return refused("bad_request", "invalid_request");
    case 401:
      return failed("auth_failed");
    case 402:
      return failed("quota_exhausted");
    case 404:
      return failed("model_not_found");
    case 413:
      return refused("bad_request", "request_too_large", 413);
    case 429:
      return failed("rate_limited", 429, "rate_limit_exceeded");
    case 500:
      return failed("provider_error");
    case 503:
      return failed("overloaded", 503, "overloaded");
    default:
      throw new Error(`no expectation for status ${status}`);
  }
}

/** A request as bytes, with what has to arrive upstream of it. */
export interface ExpectedRequest {
  sent: string;
  upstream: string;
  showsUsage: boolean;
}

/** The recorded request (a minimal one where none was recorded) to `alias`, with or without usage asked for. */
export function requestOf(record: TrafficRecord, source: ChatSource, asksUsage: boolean): ExpectedRequest {
  const stream = record.stream || (record.request?.body as Json | null)?.["stream"] === true;
  const minimal = { model: "m", messages: [{ role: "user", content: "Grüße 👋" }], ...(stream && { stream }) };
  const body: Json = { ...((record.request?.body as Json | null) ?? minimal) };
  if (stream) {
    const { include_usage: _, ...options } = objectAt(body, "stream_options") ?? {};
    if (asksUsage) body["stream_options"] = { ...options, include_usage: true };
    else if (Object.keys(options).length > 0) body["stream_options"] = options;
    else delete body["stream_options"];
  }
  const sent: [string, string][] = Object.entries({ ...body, model: source.file }).map(([key, value]) => [
    key,
    JSON.stringify(value, null, 1),
  ]);
  // A number no double can hold, in a field nobody knows: it has to arrive digit by digit.
  sent.push(["x_unknown", "1.10e+2"], ["x_big", "12345678901234567890"]);
  const other = source.cap === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  // Who refuses what it does not know is not sent it.
  const known = sent.filter(([key]) => !source.strict || !(key.startsWith("x_") || key === "stream_options"));
  const upstream = known.map(([key, value]): [string, string] => {
    if (key === "model") return [key, JSON.stringify(UPSTREAM_MODEL)];
    if (source.cap && key === other) return [source.cap, value];
    if (key === "stream_options" && !asksUsage) {
      return [key, JSON.stringify({ ...objectAt(body, key), include_usage: true })];
    }
    return [key, value];
  });
  const added =
    stream && !source.strict && !asksUsage && !body["stream_options"] ? ',"stream_options":{"include_usage":true}' : "";
  const asked = objectAt(body, "stream_options")?.["include_usage"] === true;
  return {
    sent: jsonText(sent),
    upstream: jsonText(upstream, added),
    showsUsage: asked || objectAt(body, "usage")?.["include"] === true,
  };
}

/** JSON with white space that no serializer writes, so that a body written anew shows. */
function jsonText(members: [string, string][], added = ""): string {
  return `{\t${members.map(([key, value]) => `${JSON.stringify(key)} :\n  ${value}`).join(" ,\r\n")}${added}\n }`;
}

function objectAt(from: Json | null | undefined, key: string): Json | null {
  const value = from?.[key];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
