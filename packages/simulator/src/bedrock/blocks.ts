import { isObject } from "../json.ts";
import type { HeardKind } from "../models/mirror.ts";
import { tokensOfBytes } from "../models/text.ts";
import { isOwn, signs } from "../signature.ts";
import { listAt, memberOf, objectAt, textAt, wrong } from "./refusals.ts";

const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const IMAGE_FORMATS = /^(?:png|jpeg|gif|webp)$/;
const DOCUMENT_FORMATS = /^(?:pdf|csv|doc|docx|xls|xlsx|html|txt|md)$/;
/** Letters, digits, single blanks, hyphens and brackets. */
const DOCUMENT_NAME = /^(?!.*\s\s)[a-zA-Z0-9\s()[\]-]{1,200}$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const MEDIA_TOKENS = 85;
const CACHE_POINTS_MAX = 4;
const BY_USER = ["text", "image", "document", "toolResult", "cachePoint", "guardContent"];
const BY_ASSISTANT = ["text", "toolUse", "reasoningContent", "cachePoint", "toolResult"];

/** A block that was read. */
export interface InputBlock {
  readonly member: string;
  readonly kind: HeardKind;
  readonly text: string;
  /** Of a call, or of the one that a result answers. */
  readonly id: string | null;
}

/** What is gathered while a request is read. */
export class Tally {
  readonly images: string[] = [];
  readonly results: { id: string; text: string; error: boolean }[] = [];
  readonly calls: { id: string; name: string; arguments: unknown }[] = [];
  readonly documents = new Set<string>();
  points = 0;
  bytes = 0;
  media = 0;

  get tokens(): number {
    return tokensOfBytes(this.bytes) + this.media * MEDIA_TOKENS;
  }

  text(text: string): string {
    this.bytes += Buffer.byteLength(text);
    return text;
  }
}

/** Reads a block of a message; null for a cache point. */
export function readBlock(value: unknown, role: "user" | "assistant", at: string, tally: Tally): InputBlock | null {
  const [member, content] = memberOf(value, role === "user" ? BY_USER : BY_ASSISTANT, at);
  if (member === "cachePoint") {
    readPoint(content, at, tally);
    return null;
  }
  const read = READERS[member]?.(content, `${at}.${member}`, tally);
  return { member, kind: "text", text: "", id: null, ...read };
}

/** Reads a text, which may not be blank. */
export function readText(value: unknown, at: string, tally: Tally): string {
  const text = textAt(value, at);
  if (text.trim() === "")
    wrong(
      `The text field in the ContentBlock object at ${at} is blank. Add text to the text field, and try again.`,
      at,
    );
  return tally.text(text);
}

/** Counts a cache point. */
export function readPoint(value: unknown, at: string, tally: Tally): void {
  const { type, ttl } = objectAt(value, at);
  if (type !== "default" || (ttl !== undefined && ttl !== "5m" && ttl !== "1h"))
    wrong(`The cachePoint at ${at} is invalid.`, at);
  tally.points += 1;
  if (tally.points > CACHE_POINTS_MAX) {
    wrong(`You invoked a model with ${tally.points} cache points. A maximum of ${CACHE_POINTS_MAX} is allowed.`, at);
  }
}

type Read = Partial<Omit<InputBlock, "member">>;

const READERS: Readonly<Record<string, (content: unknown, at: string, tally: Tally) => Read>> = {
  text: (content, at, tally) => ({ text: readText(content, at, tally) }),
  image: (content, at, tally) => {
    const { format, source } = objectAt(content, at);
    tally.images.push(`image/${textAt(format, `${at}.format`, IMAGE_FORMATS)}`);
    readBytes(source, `${at}.source`, tally);
    return { kind: "image" };
  },
  document: (content, at, tally) => {
    const { format, name, source } = objectAt(content, at);
    textAt(format, `${at}.format`, DOCUMENT_FORMATS);
    const named = textAt(name, `${at}.name`, DOCUMENT_NAME);
    if (tally.documents.has(named)) wrong("Messages contain duplicate document names.", at);
    tally.documents.add(named);
    readBytes(source, `${at}.source`, tally);
    return { kind: "file" };
  },
  guardContent: () => ({}),
  reasoningContent: readReasoning,
  toolUse: (content, at, tally) => {
    const { toolUseId, name, input } = objectAt(content, at);
    const id = textAt(toolUseId, `${at}.toolUseId`, ID);
    const called = tally.text(textAt(name, `${at}.name`, ID));
    if (!isObject(input))
      wrong(
        `The format of the value at ${at}.input is invalid. Provide a json object for the field and try again.`,
        at,
      );
    tally.text(JSON.stringify(input));
    tally.calls.push({ id, name: called, arguments: input });
    return { kind: "tool_call", id };
  },
  toolResult: (content, at, tally) => {
    const { toolUseId, content: inner, status } = objectAt(content, at);
    const id = textAt(toolUseId, `${at}.toolUseId`, ID);
    if (status !== undefined) textAt(status, `${at}.status`, /^(?:success|error)$/);
    const text = listAt(inner, `${at}.content`)
      .map((part, i) => readResult(part, `${at}.content.${i}`, tally))
      .join("");
    tally.results.push({ id, text, error: status === "error" });
    return { kind: "tool_result", id, text };
  },
};

function readResult(part: unknown, at: string, tally: Tally): string {
  const [member, content] = memberOf(part, ["text", "json", "image", "document", "video"], at);
  if (member === "json") return tally.text(JSON.stringify(content));
  return READERS[member]?.(content, at, tally).text ?? "";
}

function readReasoning(content: unknown, at: string): Read {
  const [member, value] = memberOf(content, ["reasoningText", "redactedContent"], at);
  if (member === "redactedContent") {
    if (!isOwn(value)) wrong(`Invalid data in redactedContent at ${at}`, at);
    return { kind: "reasoning" };
  }
  const { text, signature } = objectAt(value, at);
  if (!signs(signature, textAt(text, `${at}.text`))) wrong("Invalid `signature` in `thinking` block", at);
  return { kind: "reasoning" };
}

function readBytes(source: unknown, at: string, tally: Tally): void {
  const [member, value] = memberOf(source, ["bytes", "s3Location", "text", "content"], at);
  tally.media += 1;
  if (member === "bytes") textAt(value, `${at}.bytes`, BASE64);
}
