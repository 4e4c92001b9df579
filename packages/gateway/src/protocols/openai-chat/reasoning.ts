import type { ReasoningBlock } from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type SignedThing, unwrapSignature, wrapSignature } from "../signature.ts";

const CHAT = "openai-chat";
const GEMINI = "gemini-generate";
const UNKNOWN = "unknown";

/** What OpenRouter calls the makers of thoughts (`format`), by the protocol whose own they are. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ["anthropic-messages", "anthropic-claude-v1"],
  ["openai-responses", "openai-responses-v1"],
  [GEMINI, "google-gemini-v1"],
]);
const MAKERS: ReadonlyMap<unknown, string> = new Map([...FORMATS].map(([dialect, format]) => [format, dialect]));
/** A format that is no protocol of ours stands before the value: whoever sent it wants it back. */
const FORMATTED = /^([a-z0-9-]+-v\d+)\|(.+)$/s;

/** What a message's `reasoning_details` say. */
export interface Details {
  blocks: ReasoningBlock[];
  /** Gemini's signatures, by the call they hang on. */
  calls: Map<string, Signature>;
}

/** A signature of a chat message: out of its wrapper, else its maker's by `format`, else the chat dialect's own. */
export function signatureOf(value: unknown, format: unknown, on: SignedThing): Signature | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const { signature } = unwrapSignature(value, CHAT, on);
  if (signature.dialect !== CHAT || signature.value !== value) return signature;
  const maker = MAKERS.get(format);
  if (maker) return { dialect: maker, value };
  return typeof format === "string" && format !== UNKNOWN && FORMATTED.test(`${format}|x`)
    ? { dialect: CHAT, value: `${format}|${value}` }
    : { dialect: CHAT, value };
}

/** The signature of a call, or of an answer, where Google's compatible endpoint puts it: `extra_content.google`. */
export function googleSignature(from: Fields): Signature | undefined {
  const extra = from["extra_content"];
  const google = isObject(extra) ? extra["google"] : undefined;
  return isObject(google) ? signatureOf(google["thought_signature"], FORMATS.get(GEMINI), "call") : undefined;
}

/** A call's signature as `extra_content`: Google's own as it is, since the place says whose it is. */
export function googleContent(signature: Signature): Fields {
  const value = signature.dialect === GEMINI ? signature.value : wrapSignature(signature, "call", CHAT);
  return { google: { thought_signature: value } };
}

/** True for what a provider of this dialect may know as its own: a server of many vendors knows every vendor's. */
export function isKnownMaker(signature: Signature): boolean {
  return signature.dialect === CHAT || FORMATS.has(signature.dialect);
}

/**
 * Reads `reasoning_details`. Pieces of one text that a client has only collected are put together by their index; an
 * encrypted entry behind an unsigned text of the same format is that text's other half.
 */
export function readDetails(details: unknown, callIds: ReadonlySet<string>): Details {
  const read: Details = { blocks: [], calls: new Map() };
  let last: { index: unknown; format: unknown; open: boolean } = { index: undefined, format: undefined, open: false };
  for (const entry of Array.isArray(details) ? details.filter(isObject) : []) {
    const { index, format } = entry;
    const said = readEntry(entry);
    if (!said) continue;
    const signature = said.signature ?? said.encrypted;
    if (said.text === "" && signature && typeof entry["id"] === "string" && callIds.has(entry["id"])) {
      read.calls.set(entry["id"], signature);
      continue;
    }
    const before = read.blocks.at(-1);
    const goesOn =
      last.open && (said.text === "" ? sameFormat(last.format, format) : isIndex(index) && last.index === index);
    if (before && goesOn) {
      before.text += said.text;
      if (said.signature) before.signature = said.signature;
      if (said.encrypted) before.encrypted = said.encrypted;
    } else read.blocks.push(said);
    last = { index, format: format ?? last.format, open: signature === undefined };
  }
  return read;
}

/** One entry as a block; null for one that says nothing. Gemini's data is a signature, wherever it stands. */
function readEntry(entry: Fields): ReasoningBlock | null {
  const { type, format } = entry;
  if (type === "reasoning.encrypted") {
    const data = signatureOf(entry["data"], format, "encrypted");
    if (!data) return null;
    return { type: "reasoning", text: "", ...(data.dialect === GEMINI ? { signature: data } : { encrypted: data }) };
  }
  const given = type === "reasoning.summary" ? entry["summary"] : entry["text"];
  const text = typeof given === "string" ? given : "";
  const signature = signatureOf(entry["signature"], format, "text");
  return text === "" && !signature ? null : { type: "reasoning", text, ...(signature && { signature }) };
}

function sameFormat(one: unknown, other: unknown): boolean {
  return one === other || one === undefined || other === undefined;
}

function isIndex(index: unknown): boolean {
  return typeof index === "number";
}

/** One block as entries of `reasoning_details`, the first at `index`. What only others can read is wrapped. */
export function detailsOf({ text, signature, encrypted }: ReasoningBlock, index: number): Fields[] {
  const entries: Fields[] = [];
  if (signature) {
    const { value, format } = told(signature, "text");
    entries.push(
      text === "" && signature.dialect === GEMINI
        ? { type: "reasoning.encrypted", data: value, format, index }
        : { type: "reasoning.text", text, signature: value, format, index },
    );
  }
  if (encrypted) {
    const { value, format } = told(encrypted, "encrypted");
    if (text !== "" && !signature) entries.push({ type: "reasoning.summary", summary: text, format, index });
    entries.push({ type: "reasoning.encrypted", data: value, format, index: index + entries.length });
  }
  if (entries.length === 0 && text !== "") entries.push({ type: "reasoning.text", text, format: UNKNOWN, index });
  return entries;
}

/** A call's signature as an entry: OpenRouter names the call by `id`. */
export function callDetail(id: string, signature: Signature, index: number): Fields {
  const { value, format } = told(signature, "call");
  return { type: "reasoning.encrypted", id, data: value, format, index };
}

/** A known maker's value goes raw, with its format: a server of many vendors behind the same client takes it so. */
function told(signature: Signature, on: SignedThing): { value: string; format: string } {
  const format = FORMATS.get(signature.dialect);
  if (format) return { value: signature.value, format };
  const [, own, value] = (signature.dialect === CHAT && FORMATTED.exec(signature.value)) || [];
  if (own !== undefined && value !== undefined) return { value, format: own };
  return { value: wrapSignature(signature, on, CHAT), format: UNKNOWN };
}

/** A message's reasoning: the details, and what its plain text says beyond them, in its order. */
export function readReasoning(message: Fields, callIds: ReadonlySet<string>): Details {
  const details = readDetails(message["reasoning_details"], callIds);
  const plain = message["reasoning_content"] || message["reasoning"];
  if (typeof plain !== "string" || plain === "") return details;
  const blocks: ReasoningBlock[] = [];
  let rest = plain;
  for (const block of details.blocks) {
    const at = block.text === "" ? -1 : rest.indexOf(block.text);
    if (at > 0) blocks.push({ type: "reasoning", text: rest.slice(0, at) });
    if (at >= 0) rest = rest.slice(at + block.text.length);
    blocks.push(block);
  }
  if (rest === plain && details.blocks.some((block) => block.text !== "")) return details;
  const left: ReasoningBlock[] = rest === "" ? [] : [{ type: "reasoning", text: rest }];
  // Thoughts that only their maker can read stand behind what was shown of them.
  details.blocks = rest === plain ? [...left, ...blocks] : [...blocks, ...left];
  return details;
}
