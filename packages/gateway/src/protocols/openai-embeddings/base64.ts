import { isObject } from "../field-checks.ts";
import { type Dresser, replyObject } from "../protocol.ts";
import { base64Of } from "./translation.ts";

const KEY = Buffer.from('"embedding"');
const [COLON, OPEN_BRACKET, SPACE] = [58, 91, 32];

/**
 * Dresses answers for a client that asked for base64. OpenAI's SDKs ask for it unless told otherwise and decode whatever
 * comes, floats too, into nonsense; many servers answer floats all the same. What is base64 already keeps its bytes.
 */
export const INSISTS_ON_BASE64: Dresser = {
  reply: (body) => (holdsFloats(body) ? withBase64(body) : body),
  event: (raw) => raw,
  end: () => null,
};

/** Looks at the first vector alone: is its value an array? `"object":"embedding"` holds the same word, as a value. */
function holdsFloats(body: Buffer): boolean {
  for (let found = body.indexOf(KEY); found >= 0; found = body.indexOf(KEY, found + KEY.length)) {
    const colon = skipSpace(body, found + KEY.length);
    if (body[colon] === COLON) return body[skipSpace(body, colon + 1)] === OPEN_BRACKET;
  }
  return false;
}

function skipSpace(body: Buffer, from: number): number {
  let at = from;
  while (at < body.length && (body[at] ?? 0) <= SPACE) at++;
  return at;
}

function withBase64(body: Buffer): Buffer {
  const reply = replyObject(body);
  if (!reply || !Array.isArray(reply["data"])) return body;
  const data = reply["data"].map((item: unknown) =>
    isObject(item) && isVector(item["embedding"]) ? { ...item, embedding: base64Of(item["embedding"]) } : item,
  );
  return Buffer.from(JSON.stringify({ ...reply, data }));
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => typeof each === "number");
}
