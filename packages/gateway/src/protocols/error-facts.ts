import { type Fields, isAbsent, isObject } from "./field-checks.ts";
import { durationMs, retryAfterMs } from "./retry-hint.ts";

/** Longest piece of an error's words that is looked at. */
const MESSAGE_CHARS_MAX = 4_000;

/** The few facts that every error body of the family can be brought down to. All words in lower case. */
export interface ErrorFacts {
  status: number;
  /** Codes, types and reasons. A code that is a number repeats the status and is left out. */
  codes: string[];
  message: string;
  /** How long the body itself asks to be left alone, in ms. */
  retryAfterMs: number | null;
  /** Google's names of the quotas that are used up. */
  quotas: string[];
  /** The body is JSON: a client can read it as it is. */
  isJson: boolean;
}

/** True for an `error` member that says there is one: some send it empty. */
export function holdsError(value: unknown): boolean {
  if (isAbsent(value) || value === false || value === "") return false;
  return !isObject(value) || Object.keys(value).length > 0;
}

/** What an error body says, whatever its shape: nested, flat, a bare string, in an array, in an event, HTML, nothing. */
export function errorFacts(status: number, body: Buffer, nowMs: number): ErrorFacts {
  const text = body.toString("utf8");
  const facts: ErrorFacts = { status, codes: [], message: "", retryAfterMs: null, quotas: [], isJson: true };
  let parsed = parse(text);
  if (parsed === undefined) {
    facts.isJson = false;
    // An error answer that is framed as a stream has its JSON in the first event.
    parsed = parse(/^data:(.*)$/m.exec(text)?.[1] ?? "");
  }
  if (Array.isArray(parsed)) parsed = parsed[0];
  if (!isObject(parsed)) return { ...facts, message: plain(parsed === undefined ? text : parsed) };
  readBody(parsed, facts, nowMs);
  return facts;
}

function readBody(body: Fields, facts: ErrorFacts, nowMs: number): void {
  const groq = body["x_groq"];
  const error = body["error"] ?? (isObject(groq) ? groq["error"] : undefined);
  const from = isObject(error) ? error : body;
  const inner = isObject(from["innererror"]) ? from["innererror"] : {};
  const metadata = isObject(from["metadata"]) ? from["metadata"] : {};
  const codes = [
    inner["code"],
    from["code"],
    metadata["error_type"],
    from["type"],
    body["error_type"],
    body["code"],
    from["status"],
  ];
  facts.codes.push(...codes.flatMap(word));
  // OpenRouter's word for a moderated prompt.
  if (Array.isArray(metadata["reasons"])) facts.codes.push("content_filter");
  const message = typeof error === "string" ? error : (from["message"] ?? from["detail"] ?? "");
  // What the provider behind a reseller said says more than the reseller's own "Provider returned error".
  facts.message = plain(message) + (isAbsent(metadata["raw"]) ? "" : ` ${plain(metadata["raw"])}`);
  for (const detail of Array.isArray(from["details"]) ? from["details"] : [])
    if (isObject(detail)) readDetail(detail, facts);
  if (isObject(metadata["headers"])) facts.retryAfterMs ??= retryAfterMs(lowerCase(metadata["headers"]), nowMs);
  facts.retryAfterMs ??= spokenDelay(facts.message);
}

/** Google's `details`: ErrorInfo has a reason, RetryInfo a delay, QuotaFailure the quotas. */
function readDetail(detail: Fields, facts: ErrorFacts): void {
  facts.codes.push(...word(detail["reason"]));
  if (typeof detail["retryDelay"] === "string") facts.retryAfterMs ??= durationMs(detail["retryDelay"]);
  for (const violation of Array.isArray(detail["violations"]) ? detail["violations"] : []) {
    if (isObject(violation)) facts.quotas.push(...word(violation["quotaId"]));
  }
}

/** `try again in 1.2s`, `retry in 34.4s`, `retry after 45 seconds`. */
function spokenDelay(message: string): number | null {
  const short = /(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|[smhd]))+)\b/.exec(message);
  if (short) return durationMs(short[1] ?? "");
  const long = /(?:retry|try again) (?:after|in) (\d+) seconds?\b/.exec(message);
  return long ? Number(long[1]) * 1_000 : null;
}

/** Statuses that the family's types stand for, where an error inside a 200 names no number. */
const TYPE_STATUS = new Map([
  ["invalid_request_error", 400],
  ["badrequesterror", 400],
  ["authentication_error", 401],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["notfounderror", 404],
  ["rate_limit_error", 429],
  ["overloaded_error", 529],
]);

/** The HTTP status an error inside a 200 names, by number or by type; null when it names none. */
export function statusNamed(body: Fields): number | null {
  const error = isObject(body["error"]) ? body["error"] : {};
  for (const from of [body, error]) {
    for (const key of ["status_code", "raw_status_code", "status", "code"]) {
      const value = from[key];
      const status = typeof value === "string" && value !== "" ? Number(value) : value;
      if (typeof status === "number" && Number.isInteger(status) && status >= 400 && status < 600) return status;
    }
  }
  const type = error["type"] ?? body["type"];
  return typeof type === "string" ? (TYPE_STATUS.get(type.toLowerCase()) ?? null) : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function word(value: unknown): string[] {
  return typeof value === "string" && value !== "" && !/^\d+$/.test(value) ? [value.toLowerCase()] : [];
}

function plain(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.slice(0, MESSAGE_CHARS_MAX).toLowerCase();
}

function lowerCase(headers: Fields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}
