import { isAscii } from "node:buffer";
import type { Member } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;

/** A change to the top-level members of a JSON object: new value bytes, a new name, or null to take the member out. */
export type Edit = { value: string } | { rename: string } | null;

/**
 * The top-level members of `raw`, which must already have passed JSON.parse as an object, in the order they stand
 * (a repeated key appears repeatedly). Throws invalid_request when anything nests deeper than `depthMax`,
 * or when there are more than LIMITS.jsonMembersMax of them. `decoded`: its text, where that is at hand.
 */
export function membersOf(raw: Buffer, depthMax: number = LIMITS.jsonDepthMax, decoded?: string): Member[] {
  // One character a byte, whatever the text: positions are byte offsets. Only of ASCII is the text as long as its bytes.
  const text = decoded?.length === raw.length ? decoded : raw.toString(isAscii(raw) ? "ascii" : "latin1");
  const members: Member[] = [];
  let at = text.indexOf("{") + 1;
  for (;;) {
    at = skipSpace(text, at);
    const code = text.charCodeAt(at);
    if (code === CLOSE_BRACE || Number.isNaN(code)) return members;
    if (code === COMMA) {
      at++;
      continue;
    }
    if (members.length === LIMITS.jsonMembersMax) {
      throw new GatewayError("invalid_request", `the body has more than ${LIMITS.jsonMembersMax} top-level members`);
    }
    const keyStart = at;
    const keyEnd = endOfString(text, keyStart);
    at = skipSpace(text, keyEnd);
    if (text.charCodeAt(at) === COLON) at++;
    const valueStart = skipSpace(text, at);
    const valueEnd = endOfValue(text, valueStart, depthMax);
    members.push({ key: readKey(raw, text, keyStart, keyEnd), keyStart, keyEnd, valueStart, valueEnd });
    at = valueEnd;
  }
}

/** Where the elements of the array in `raw` stand, which must already have passed JSON.parse. */
export function elementsOf(raw: Buffer): { start: number; end: number }[] {
  const text = isAscii(raw) ? raw.toString("ascii") : raw.toString("latin1");
  const elements: { start: number; end: number }[] = [];
  let at = text.indexOf("[") + 1;
  for (;;) {
    at = skipSpace(text, at);
    const code = text.charCodeAt(at);
    if (code === CLOSE_BRACKET || Number.isNaN(code)) return elements;
    if (code === COMMA) {
      at++;
      continue;
    }
    const end = endOfValue(text, at, Number.POSITIVE_INFINITY);
    elements.push({ start: at, end });
    at = end;
  }
}

/**
 * `raw` with `edits` made by key (to each member of a repeated one), and `additions` (`"key":value` each) put after the last
 * member. Other bytes stay: where a member was taken out, one comma stands for the gap between its neighbours.
 */
export function editMembers(
  raw: Buffer,
  members: readonly Member[],
  edits: ReadonlyMap<string, Edit>,
  additions: readonly string[],
): Buffer {
  const bodyStart = members[0]?.keyStart ?? raw.indexOf("{") + 1;
  const pieces: Buffer[] = [];
  /** Bytes before this offset are in `pieces`, or were left out. */
  let copied = 0;
  let keptEnd = bodyStart;
  let kept = 0;
  let gap = false;
  for (const { key, keyStart, keyEnd, valueStart, valueEnd } of members) {
    const edit = edits.get(key);
    if (edit === null) {
      if (!gap) pieces.push(raw.subarray(copied, keptEnd));
      gap = true;
      continue;
    }
    if (gap) {
      if (kept > 0) pieces.push(Buffer.from(","));
      copied = keyStart;
      gap = false;
    }
    if (edit) {
      const rename = "rename" in edit;
      pieces.push(raw.subarray(copied, rename ? keyStart : valueStart));
      pieces.push(Buffer.from(rename ? JSON.stringify(edit.rename) : edit.value));
      copied = rename ? keyEnd : valueEnd;
    }
    keptEnd = valueEnd;
    kept++;
  }
  if (!gap) pieces.push(raw.subarray(copied, keptEnd));
  if (additions.length > 0) pieces.push(Buffer.from((kept > 0 ? "," : "") + additions.join(",")));
  pieces.push(raw.subarray(members[members.length - 1]?.valueEnd ?? bodyStart));
  return Buffer.concat(pieces);
}

function readKey(raw: Buffer, text: string, start: number, end: number): string {
  const plain = text.slice(start + 1, end - 1);
  // Escapes and anything beyond ASCII go through the real parser: `"mod\u0065l"` is the key `model`.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is "not ASCII"
  return /[\\]|[^\x00-\x7f]/.test(plain) ? (JSON.parse(raw.toString("utf8", start, end)) as string) : plain;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}

/** The offset after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let close = text.indexOf('"', start + 1);
  for (;;) {
    let slashes = 0;
    while (text.charCodeAt(close - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return close + 1;
    close = text.indexOf('"', close + 1);
  }
}

function endOfValue(text: string, start: number, depthMax: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    let at = start;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || code <= 32 || Number.isNaN(code))
        return at;
      at++;
    }
  }
  let depth = 0;
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at) - 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth >= depthMax) {
        throw new GatewayError("invalid_request", `the body nests deeper than ${depthMax} levels; send a flatter one`);
      }
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (--depth === 0) return at + 1;
    }
  }
}
