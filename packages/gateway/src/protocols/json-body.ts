import { isAscii, isUtf8 } from "node:buffer";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { type Fields, isObject, wrongField } from "./field-checks.ts";

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const OPEN_BRACKET = 91;

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i;
const PROTO = [..."__proto__"].map((char) => `(?:${char}|\\\\u00${char.charCodeAt(0).toString(16)})`).join("");
const ESCAPED_PROTO = new RegExp(`"${PROTO}"`, "i");
const PROTO_KEY = new RegExp(`"${PROTO}"\\s*:`, "i");

/** A body, parsed. */
export interface ParsedBody {
  body: Record<string, unknown>;
  text: string;
  /** An ASCII character may be written as an escape (`\u00..`) in it. */
  escaped: boolean;
}

/** The body as a JSON object. Throws invalid_request that says what is wrong with it; never a 500. */
export function parseJsonBody(raw: Buffer, contentType: string | undefined): ParsedBody {
  if (raw.length === 0) throw bad("the request body is empty; send a JSON object");
  if (contentType === undefined) throw bad("the content-type header is missing; send content-type: application/json");
  if (contentType !== "application/json" && !JSON_TYPE.test(contentType.trim())) {
    throw bad(`content-type ${contentType.slice(0, 60)} is not accepted here; send application/json`);
  }
  // Most are: and one character a byte is decoded the fastest.
  const ascii = isAscii(raw);
  if (!ascii && !isUtf8(raw)) throw bad("the request body is not valid UTF-8");
  const text = raw.toString(ascii ? "latin1" : "utf8");
  if (holdsTooMany(raw))
    throw bad(`the request body holds more than ${LIMITS.jsonValuesMax} values; send less at once`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw bad(`the request body is not valid JSON${position(error, text)}`);
  }
  if (!isObject(value)) throw bad("the request body must be a JSON object");
  const escaped = text.includes("\\u00");
  refusePrototypeKeys(value, text, escaped);
  return { body: value, text, escaped };
}

/**
 * Every value but the first stands behind a comma or an opening bracket (with a key before it, or not): those are counted,
 * and closely only where the bytes hold so many at all.
 */
function holdsTooMany(raw: Buffer): boolean {
  if (raw.length <= LIMITS.jsonValuesMax) return false;
  let marks = 0;
  for (const byte of raw) if (startsValue(byte)) marks++;
  if (marks <= LIMITS.jsonValuesMax) return false;
  marks = 0;
  let quoted = false;
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at] ?? 0;
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted && byte === BACKSLASH) at++;
    else if (!quoted && startsValue(byte)) marks++;
  }
  return marks > LIMITS.jsonValuesMax;
}

function startsValue(byte: number): boolean {
  return byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET;
}

/**
 * No API has a field of these names: whoever sends one wants to change objects that are not theirs. Deeper down, `constructor`
 * and `prototype` may be a tool's own words; `__proto__` is nobody's. In JSON text the pattern can only be a key: within a
 * string its quotes would be escaped.
 */
function refusePrototypeKeys(body: Fields, text: string, escaped: boolean): void {
  // Looked for where they would stand in the way of what every object inherits; below, `__proto__` is found wherever it stands.
  if (body["constructor"] !== Object || body["prototype"] !== undefined) {
    for (const key of ["__proto__", "constructor", "prototype"]) {
      if (Object.hasOwn(body, key)) throw wrongField(key, "left out: it is not a field");
    }
  }
  // V8 looks for up to six characters in a quicker way than for more. Written with escapes it is the same key.
  const spelled = text.includes("_proto") && text.includes('"__proto__"');
  const found = spelled || (escaped && ESCAPED_PROTO.test(text));
  if (found && PROTO_KEY.test(text)) throw wrongField("__proto__", "left out: it is not a field");
}

/** Where JSON.parse gave up, as line and column, where it says so; its own words would quote the body. */
function position(error: unknown, text: string): string {
  const words = error instanceof Error ? error.message : "";
  const found = /at position (\d+)/.exec(words);
  if (words.startsWith("Unexpected end") || Number(found?.[1]) >= text.length) return ": it ends too early";
  if (!found) return "";
  const before = text.slice(0, Number(found[1]));
  const line = before.split("\n").length;
  return ` at line ${line}, column ${before.length - before.lastIndexOf("\n")}`;
}

function bad(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}
