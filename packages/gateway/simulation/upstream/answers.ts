import type { Part } from "./play.ts";

/** An answer that is a refusal. */
interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

const JSON_TYPE = { "content-type": "application/json" };
const OVERFLOW = "prompt is too long: this model's maximum context length is 8192 tokens";

/** The refusal an act stands for; null where it is none. Notes in the line how long it asks to be left alone. */
export function refusalOf(part: Part): Refusal | null {
  const { act, wire } = part;
  const says = (status: number, type: string, code: string | null, message: string): Refusal => ({
    status,
    headers: { ...JSON_TYPE, ...hintOf(part) },
    body: wire.error({ type, code, message }),
  });
  switch (act.kind) {
    case "limited":
      return says(429, "rate_limit_error", "rate_limit_exceeded", "slow down, please");
    case "overloaded":
      return says(503, "overloaded_error", null, "busy");
    case "fault":
      return says(500, "api_error", null, "something broke");
    case "quota":
      return says(429, "billing_error", "insufficient_quota", "you have spent what you had");
    case "auth":
      return says(401, "authentication_error", "invalid_api_key", "who are you?");
    case "gone":
      return says(404, "not_found_error", "model_not_found", "there is no such model");
    case "filter":
      return says(400, "invalid_request_error", "content_filter", "refused by our content filtering policy");
    case "overflow":
      return says(400, "invalid_request_error", "context_length_exceeded", OVERFLOW);
    case "bad":
      return says(400, "invalid_request_error", "invalid_value", "this makes no sense");
    case "html":
      return { status: 200, headers: { "content-type": "text/html" }, body: Buffer.from("<html>hello</html>") };
    case "empty":
      return { status: 200, headers: JSON_TYPE, body: Buffer.alloc(0) };
    case "error_first":
    case "error_mid":
      if (part.line.stream) return null;
      return {
        status: 200,
        headers: JSON_TYPE,
        body: wire.error({ type: "overloaded_error", code: "overloaded_error", message: "busy" }),
      };
    default:
      return null;
  }
}

/** The headers of a good answer. */
export function headOf({ line }: Part): Record<string, string> {
  return line.stream ? { "content-type": "text/event-stream; charset=utf-8" } : JSON_TYPE;
}

function hintOf({ act, line, nowMs }: Part): Record<string, string> {
  if (act.hint === "none") return {};
  if (act.hint === "seconds") {
    const seconds = Math.ceil(act.hintMs / 1_000);
    line.retryAfterMs = seconds * 1_000;
    return { "retry-after": String(seconds) };
  }
  if (act.hint === "ms") {
    line.retryAfterMs = Math.ceil(act.hintMs);
    return { "retry-after-ms": String(Math.ceil(act.hintMs)) };
  }
  const until = Math.ceil((nowMs() + act.hintMs) / 1_000) * 1_000;
  line.retryAfterMs = until - nowMs();
  line.isDate = true;
  return { "retry-after": new Date(until).toUTCString() };
}
