import { isUtf8 } from "node:buffer";
import { GatewayError } from "../core/errors.ts";

/** The body as a JSON object. Throws invalid_request that says what is wrong with it; never a 500. */
export function parseJsonObject(raw: Buffer, contentType: string | undefined): Record<string, unknown> {
  if (raw.length === 0) throw bad("the request body is empty; send a JSON object");
  if (contentType === undefined) throw bad("the content-type header is missing; send content-type: application/json");
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType.trim())) {
    throw bad(`content-type ${contentType.slice(0, 60)} is not accepted here; send application/json`);
  }
  if (!isUtf8(raw)) throw bad("the request body is not valid UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(raw.toString("utf8"));
  } catch (error) {
    throw bad(`the request body is not valid JSON${position(error, raw)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw bad("the request body must be a JSON object");
  return value as Record<string, unknown>;
}

/** Where JSON.parse gave up, as line and column; V8's own words would quote the body. */
function position(error: unknown, raw: Buffer): string {
  const found = /at position (\d+)/.exec(error instanceof Error ? error.message : "");
  if (!found) return ": it ends too early";
  const before = raw.toString("utf8").slice(0, Number(found[1]));
  const line = before.split("\n").length;
  return ` at line ${line}, column ${before.length - before.lastIndexOf("\n")}`;
}

function bad(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}
