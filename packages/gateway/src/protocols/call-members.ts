import type { Call, Member, ModelPlace } from "../core/call.ts";
import { LIMITS } from "../core/limits.ts";
import type { Bytes } from "../core/pieces.ts";
import type { ParsedBody } from "./json-body.ts";
import { type Edit, editMembers, membersOf } from "./json-members.ts";

/*
 * Most bodies are sent on with another model and nothing else. Its place is found by its spelling, and the members are walked
 * only where that does not tell, or where a body is so large that it has to be held to the bounds by a walk.
 */

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const SPACE = 32;
const CLOSE_BRACE = 125;

/** The key without its last quote: V8 looks for up to six characters in one quick way, and for more in one that may be slow. */
const MODEL_KEY = '"model';
/** A body up to this size goes on as text. Of a larger one the pieces go on as they came: memory for a copy is what costs. */
const TEXT_BYTES_MAX = 4 * 1024;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
const ASCII = /^[\x00-\x7f]*$/;
/** Bytes that a member takes at least: two quotes, a colon, a value, and the comma before the next. */
const MEMBER_BYTES_MIN = 5;

/** What a call knows of its members. Throws invalid_request for a body with too many of them, or that nests too deep. */
export function foundMembers(raw: Buffer, { body, text, escaped }: ParsedBody): Pick<Call, "members" | "modelAt"> {
  return {
    members: isSmall(raw, text) ? null : membersOf(raw, LIMITS.jsonDepthMax, text),
    modelAt: escaped || body["model"] === undefined ? null : modelPlace(raw, text),
  };
}

/** The top-level members of a call's body, walked where nobody has yet. */
export function membersIn({ raw, members }: Pick<Call, "raw" | "members">): readonly Member[] {
  return members ?? membersOf(raw);
}

/** The call's body with `edits` and `additions` made, as `editMembers` does; in pieces of its own where that saves a large copy. */
export function editBody(
  call: Pick<Call, "raw" | "members" | "modelAt">,
  edits: ReadonlyMap<string, Edit>,
  additions: readonly string[],
): Bytes {
  const { raw, modelAt } = call;
  const edit = modelAt && edits.size === 1 ? edits.get("model") : null;
  if (modelAt && edit && "value" in edit) return spliceModel(raw, modelAt, edit.value, additions);
  return editMembers(raw, membersIn(call), edits, additions);
}

/** Whether its size and the few brackets in its text say that a body cannot be over the bounds. */
function isSmall(raw: Buffer, text: string): boolean {
  if (raw.length > LIMITS.jsonMembersMax * MEMBER_BYTES_MIN) return false;
  let left: number = LIMITS.jsonDepthMax;
  for (let at = text.indexOf("{"); at !== -1 && left > 0; at = text.indexOf("{", at + 1)) left--;
  for (let at = text.indexOf("["); at !== -1 && left > 0; at = text.indexOf("[", at + 1)) left--;
  return left > 0;
}

/**
 * Where the string stands, quotes included, that is the `model` at the top of a body which has one, and has no ASCII character
 * written as an escape; null where that takes a walk.
 *
 * Without escapes the key must be there as it is spelled, and where its spelling comes but once, that is the key. (In
 * another object, or as a string, it would come a second time.)
 */
function modelPlace(raw: Buffer, text: string): ModelPlace | null {
  const found = text.indexOf(MODEL_KEY);
  if (found === -1 || text.includes(MODEL_KEY, found + MODEL_KEY.length)) return null;
  // Only of ASCII is the text as long as its bytes.
  const ascii = text.length === raw.length;
  const key = ascii ? found : raw.indexOf(MODEL_KEY);
  const behind = key + MODEL_KEY.length;
  const colon = skipSpace(raw, behind + 1);
  if (raw[behind] !== QUOTE || raw[colon] !== COLON) return null;
  const start = skipSpace(raw, colon + 1);
  if (raw[start] !== QUOTE) return null;
  let close = start + 1;
  while (raw[close] !== QUOTE) if (raw[close++] === BACKSLASH) return null;
  return { start, end: close + 1, text: ascii && raw.length <= TEXT_BYTES_MAX ? text : null };
}

function spliceModel(raw: Buffer, place: ModelPlace, value: string, additions: readonly string[]): Bytes {
  const { start, end, text } = place;
  const added = additions.length === 0 ? "" : `,${additions.join(",")}`;
  const last = added === "" ? raw.length : endOfMembers(raw);
  if (text !== null && ASCII.test(value) && (added === "" || ASCII.test(added))) {
    const begun = text.slice(0, start) + value;
    return added === "" ? begun + text.slice(end) : begun + text.slice(end, last) + added + text.slice(last);
  }
  const length = raw.length - (end - start) + Buffer.byteLength(value) + (added === "" ? 0 : Buffer.byteLength(added));
  const pieces = [raw.subarray(0, start), Buffer.from(value), raw.subarray(end, last)];
  if (added !== "") pieces.push(Buffer.from(added), raw.subarray(last));
  return { pieces, length };
}

/** Where the last member of a JSON object that has one ends. */
function endOfMembers(raw: Buffer): number {
  let at = raw.lastIndexOf(CLOSE_BRACE);
  while ((raw[at - 1] ?? QUOTE) <= SPACE) at--;
  return at;
}

function skipSpace(raw: Buffer, from: number): number {
  let at = from;
  while ((raw[at] ?? QUOTE) <= SPACE) at++;
  return at;
}
