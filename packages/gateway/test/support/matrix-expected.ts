import type { ErrorClass, ErrorCode } from "@sluicegate/contract";
import { type ClientName, DIALECTS } from "./client-dialects.ts";
import { at, type Json, listAt, payloadsOf, textAt } from "./loose-json.ts";
import type { SourceDialect } from "./matrix-sources.ts";
import { readBedrock } from "./read-bedrock.ts";
import { readCohere } from "./read-cohere.ts";
import { geminiResponses } from "./read-gemini.ts";
import { responseBytes, type TrafficRecord } from "./replay-server.ts";
import type { Reply } from "./said.ts";

/** What a recorded answer has to come to: an answer, or a failure of a class. */
export type Expected = { kind: "answer"; reply: Reply } | { kind: "failure"; class: ErrorClass };

/** By the record's bytes; `own` is the dialect they are in. */
export function expectedOf(record: TrafficRecord, own: SourceDialect): Expected {
  const failed = failureIn(record);
  if (failed) return { kind: "failure", class: failed };
  const read = own === "bedrock" ? readBedrock : own === "cohere" ? readCohere : DIALECTS[own].read;
  return { kind: "answer", reply: read(responseBytes(record), record.stream) };
}

/** Words that say it whatever the status. */
const WORDS: Record<string, ErrorClass> = {
  API_KEY_INVALID: "auth_failed",
  model_not_found: "model_not_found",
  insufficient_quota: "quota_exhausted",
  tool_use_failed: "provider_error",
  content_filter: "content_filtered",
};
const STATUSES: Record<number, ErrorClass> = {
  ...{ 400: "bad_request", 401: "auth_failed", 402: "quota_exhausted", 403: "auth_failed", 404: "model_not_found" },
  ...{ 413: "bad_request", 429: "rate_limited", 500: "provider_error", 502: "provider_error" },
  ...{ 503: "overloaded", 529: "overloaded" },
};
/** Candidates that end so hold nothing that could be shown. */
const FAILED = new Set(["UNEXPECTED_TOOL_CALL", "MALFORMED_FUNCTION_CALL"]);

function failureIn(record: TrafficRecord): ErrorClass | null {
  const { status } = record.response;
  const text = responseBytes(record).toString("utf8");
  if (status !== 200) {
    const word = Object.keys(WORDS).find((one) => text.includes(`"${one}"`));
    // Voyage has no code for it.
    const unknownModel = /"detail": ?"Model \S+ is not supported/.test(text);
    const known = unknownModel ? "model_not_found" : (word && WORDS[word]) || STATUSES[status];
    if (!known) throw new Error(`no expectation for status ${status}`);
    return known;
  }
  if (/^event: error$/m.test(text) || /"type": ?"response\.failed"/.test(text)) return failureInStream(text);
  if (record.stream && payloadsOf(text).some((event) => at(event, "error") && at(event, "choices") !== undefined))
    return errorBeforeFinish(text);
  if (!/"(?:candidates|promptFeedback)"/.test(text)) return null;
  const responses = geminiResponses(responseBytes(record));
  if (responses.some((one) => textAt(one, "promptFeedback", "blockReason") !== "")) return "content_filtered";
  const words = responses.flatMap((one) =>
    listAt(one, "candidates").map((candidate) => textAt(candidate, "finishReason")),
  );
  return words.some((word) => FAILED.has(word)) ? "provider_error" : null;
}

/** Behind a finish reason the answer is there, whatever is said about it. */
function errorBeforeFinish(text: string): ErrorClass | null {
  const events = payloadsOf(text);
  const finish = events.findIndex((event) => at(event, "choices", 0, "finish_reason"));
  const error = events.findIndex((event) => at(event, "error"));
  return finish >= 0 && finish < error ? null : failureInStream(text);
}

function failureInStream(text: string): ErrorClass {
  if (text.includes('"overloaded_error"')) return "overloaded";
  const word = Object.keys(WORDS).find((one) => text.includes(`"${one}"`));
  return (word && WORDS[word]) || "provider_error";
}

/** How a failure is told (INTERFACE, Errors). */
export interface Told {
  code: ErrorCode;
  status: number;
  /** OpenAI's type, Anthropic's, Google's status word. */
  types: { openai: string; anthropic: string; google: string };
}

function told(code: ErrorCode, status: number, openai: string, anthropic: string, google: string): Told {
  return { code, status, types: { openai, anthropic, google } };
}

const INVALID = ["invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"] as const;
const ALL_FAILED = told("all_providers_failed", 502, "server_error", "api_error", "UNAVAILABLE");
const TOLD: Partial<Record<ErrorClass, Told>> = {
  bad_request: told("invalid_request", 400, ...INVALID),
  content_filtered: told("content_filter", 400, ...INVALID),
  context_overflow: told("context_length_exceeded", 400, ...INVALID),
  rate_limited: told("rate_limit_exceeded", 429, "rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"),
  overloaded: told("overloaded", 503, "service_unavailable", "overloaded_error", "UNAVAILABLE"),
};

/** What a client is told of a failure of the last attempt. */
export function toldOf(kind: ErrorClass, httpStatus: number): Told {
  if (kind === "bad_request" && httpStatus === 413)
    return told("request_too_large", 413, "invalid_request_error", "request_too_large", "INVALID_ARGUMENT");
  return TOLD[kind] ?? ALL_FAILED;
}

/** What a stream says, object by object. Google's SDK knows an error only by a piece of bare JSON behind the events. */
function streamedObjects(client: ClientName, text: string): Json[] {
  if (client === "gemini-array") return JSON.parse(text) as Json[];
  if (client !== "gemini") return payloadsOf(text);
  const end = text.lastIndexOf("\r\n\r\n") + 4;
  return [...payloadsOf(text.slice(0, end)), JSON.parse(text.slice(end)) as Json];
}

/** An error that came after output: it is the last thing said, once, and nothing looks like a good end. */
export function wrongStreamError(client: ClientName, text: string, want: Told): string | null {
  const events = streamedObjects(client, text);
  const errors = events.filter((event) => at(event, "error") !== undefined || at(event, "type") === "error");
  const [error] = errors;
  if (errors.length !== 1 || events.at(-1) !== error) return `${errors.length} errors in ${events.length} events`;
  if (/"(?:finish_reason|stop_reason|finishReason)": ?"/.test(text)) return "a finish reason and an error";
  if ((client === "chat" || client === "completions") && !text.endsWith("data: [DONE]\n\n")) return "no end mark";
  // Its status went out before it was known.
  const body = client === "responses" ? { error } : error;
  const wrong = wrongError(
    client,
    client === "messages" && want.code === "overloaded" ? 529 : want.status,
    body,
    want,
    true,
  );
  return wrong && `in the stream: ${wrong}`;
}

/** Differences between an error as a client got it and as it should be; none: null. */
export function wrongError(
  client: ClientName,
  status: number,
  body: unknown,
  want: Told,
  inStream = false,
): string | null {
  const anthropic = client === "messages";
  const google = client.startsWith("gemini");
  const shown = anthropic && want.code === "overloaded" ? 529 : want.status;
  const error = at(Array.isArray(body) ? body[0] : body, "error");
  const code = google ? at(listAt(error, "details")[0], "reason") : at(error, "code");
  const said = google ? at(error, "status") : at(error, "type");
  const type = inStream && client === "responses" ? want.types.openai : said;
  const types = want.types;
  const wantType = google ? types.google : anthropic ? types.anthropic : types.openai;
  const got = `${status} ${code} ${type}`;
  const wanted = `${shown} ${want.code} ${wantType}`;
  if (got !== wanted) return `told ${got} rather than ${wanted}`;
  if (anthropic && at(body, "type") !== "error") return "no outer type";
  return textAt(error, "message") === "" ? "no message" : null;
}
