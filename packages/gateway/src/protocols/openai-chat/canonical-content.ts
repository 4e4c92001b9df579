import type {
  AudioBlock,
  Block,
  CacheMarker,
  DocumentBlock,
  ImageBlock,
  MediaSource,
  ReasoningBlock,
} from "../../core/message.ts";
import { readDataUrl } from "../data-url.ts";
import { type Fields, isObject, wordOf, wrongField } from "../field-checks.ts";
import { signatureOf } from "./reasoning.ts";

const CHAT = "openai-chat";
const PDF = "application/pdf";

/** A message's `content`: one text, or its parts in their order. */
export function readContent(content: unknown, path: string): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap((part, index) => readPart(part, `${path}.content[${index}]`)) : [];
}

/** `cache_control`, as clients of Anthropic's models put it on parts, messages and tools; spread into a block. */
export function cacheOf(from: Fields): { cache?: CacheMarker } {
  const marker = from["cache_control"];
  if (isObject(marker)) {
    const ttl = marker["ttl"];
    return { cache: { ttl: ttl === "5m" || ttl === "1h" ? ttl : null } };
  }
  return isObject(from["prompt_cache_breakpoint"]) ? { cache: { ttl: null } } : {};
}

function readPart(part: unknown, path: string): Block[] {
  if (!isObject(part)) throw wrongField(path, "an object with a type");
  const cache = cacheOf(part);
  switch (part["type"]) {
    case "text":
      return [{ type: "text", text: wordOf(part["text"]), ...cache }];
    case "refusal":
      return [{ type: "refusal", text: typeof part["refusal"] === "string" ? part["refusal"] : "" }];
    case "thinking":
      return [readThinking(part)];
  }
  const media = readImage(part) ?? readAudio(part) ?? readDocument(part);
  return [media ? { ...media, ...cache } : { type: "opaque", dialect: CHAT, path, value: part }];
}

/** Mistral's own part. */
function readThinking(part: Fields): ReasoningBlock {
  const { thinking } = part;
  const pieces = Array.isArray(thinking)
    ? thinking.map((piece) => (isObject(piece) ? piece["text"] : piece))
    : [thinking];
  const text = pieces.filter((piece) => typeof piece === "string").join("");
  const signature = signatureOf(part["signature"], null, "text");
  return { type: "reasoning", text, ...(signature && { signature }) };
}

function readImage(part: Fields): ImageBlock | null {
  if (part["type"] !== "image_url") return null;
  const image = part["image_url"];
  const url = isObject(image) ? image["url"] : image;
  const detail = isObject(image) ? image["detail"] : undefined;
  if (typeof url !== "string") return null;
  return { type: "image", source: sourceOf(url), ...(typeof detail === "string" && { detail }) };
}

function readAudio(part: Fields): AudioBlock | null {
  const audio = part["input_audio"];
  if (part["type"] !== "input_audio" || !isObject(audio) || typeof audio["data"] !== "string") return null;
  const inline = readDataUrl(audio["data"]);
  if (inline) return { type: "audio", source: { kind: "base64", ...inline } };
  const format = typeof audio["format"] === "string" ? audio["format"] : "wav";
  const mediaType = `audio/${format === "mp3" ? "mpeg" : format}`;
  return { type: "audio", source: { kind: "base64", data: audio["data"], mediaType } };
}

function readDocument(part: Fields): DocumentBlock | null {
  // Mistral's own part.
  if (part["type"] === "document_url") {
    const given = part["document_url"];
    const url = isObject(given) ? given["url"] : given;
    return typeof url === "string" ? { type: "document", source: sourceOf(url) } : null;
  }
  const file = part["file"];
  if (part["type"] !== "file" || !isObject(file)) return null;
  const named = typeof file["filename"] === "string" ? { title: file["filename"] } : {};
  const { file_data: data, file_id: id } = file;
  if (typeof data === "string") return { type: "document", source: sourceOf(data, PDF), ...named };
  return typeof id === "string" ? { type: "document", source: { kind: "file", id, dialect: CHAT }, ...named } : null;
}

/** A data URL, bare base64 of type `bare`, or an address. */
function sourceOf(url: string, bare?: string): MediaSource {
  const inline = readDataUrl(url);
  if (inline) return { kind: "base64", ...inline };
  if (bare !== undefined && !/^[a-z][a-z0-9+.-]*:\/\//i.test(url))
    return { kind: "base64", data: url, mediaType: bare };
  return { kind: "url", url, mediaType: null };
}
