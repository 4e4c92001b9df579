import type {
  Block,
  CacheMarker,
  DocumentBlock,
  ImageBlock,
  MediaSource,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { argumentsJson } from "../exact-json.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { unwrapSignature } from "../signature.ts";
import { NAME, UNSIGNED } from "./wire.ts";

const PDF = "application/pdf";
/** The member that stands for arguments which are no JSON object. */
const RAW_ARGUMENTS = "__raw_arguments";

/** A `cache_control` member as a marker; null without one. */
export function cacheOf(from: Fields): CacheMarker | null {
  const control = from["cache_control"];
  if (!isObject(control)) return null;
  return { ttl: control["ttl"] === "1h" ? "1h" : control["ttl"] === "5m" ? "5m" : null };
}

/** A string member; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function withCache<B extends object>(block: B, from: Fields): B & { cache?: CacheMarker } {
  const cache = cacheOf(from);
  return cache ? { ...block, cache } : block;
}

/** A text block; what it cites is the provider's own business. */
export function textBlock(block: Fields): TextBlock {
  return withCache({ type: "text", text: textOf(block["text"]) }, block);
}

/** An image; null where its source is of a kind that nobody knows. */
export function imageBlock(block: Fields): ImageBlock | null {
  const source = mediaSource(block["source"]);
  if (!source) return null;
  const image: ImageBlock = { type: "image", source };
  return withCache(image, block);
}

/**
 * A document. One made of blocks becomes its text and, behind it, its images. Null where its source is of a kind that nobody
 * knows.
 */
export function documentBlocks(block: Fields): (DocumentBlock | ImageBlock)[] | null {
  const given = block["source"];
  if (!isObject(given)) return null;
  const images: ImageBlock[] = [];
  const source = given["type"] === "content" ? contentSource(given["content"], images) : documentSource(given);
  if (!source) return null;
  const citations = block["citations"];
  const document: DocumentBlock = {
    type: "document",
    source,
    ...(typeof block["title"] === "string" && { title: block["title"] }),
    ...(typeof block["context"] === "string" && { context: block["context"] }),
    ...(isObject(citations) && { citations: citations["enabled"] === true }),
  };
  return [withCache(document, block), ...images];
}

function documentSource(source: Fields): DocumentBlock["source"] | null {
  if (source["type"] === "text") return { kind: "text", text: textOf(source["data"]) };
  return mediaSource(source, PDF);
}

function contentSource(content: unknown, images: ImageBlock[]): DocumentBlock["source"] {
  if (!Array.isArray(content)) return { kind: "text", text: textOf(content) };
  const texts: string[] = [];
  for (const block of content.filter(isObject)) {
    if (block["type"] === "text") texts.push(textOf(block["text"]));
    const image = block["type"] === "image" ? imageBlock(block) : null;
    if (image) images.push(image);
  }
  return { kind: "text", text: texts.join("\n\n") };
}

function mediaSource(source: unknown, urlType: string | null = null): MediaSource | null {
  if (!isObject(source)) return null;
  switch (source["type"]) {
    case "base64":
      return { kind: "base64", data: textOf(source["data"]), mediaType: textOf(source["media_type"]) };
    case "url":
      return { kind: "url", url: textOf(source["url"]), mediaType: urlType };
    case "file":
      return { kind: "file", id: textOf(source["file_id"]), dialect: NAME };
  }
  return null;
}

/** A search result that the client brings: a document of text, its source told to the model. */
export function searchResult(block: Fields): DocumentBlock {
  const images: ImageBlock[] = [];
  const citations = block["citations"];
  const document: DocumentBlock = {
    type: "document",
    source: contentSource(block["content"], images),
    ...(typeof block["title"] === "string" && { title: block["title"] }),
    ...(typeof block["source"] === "string" && { context: `source: ${block["source"]}` }),
    ...(isObject(citations) && { citations: citations["enabled"] === true }),
  };
  return withCache(document, block);
}

/** A tool call under the name it is known by. */
export function toolCall(block: Fields, name: string, signature: Signature | null): ToolCallBlock {
  const input = isObject(block["input"]) ? block["input"] : {};
  const raw = Object.keys(input).length === 1 ? input[RAW_ARGUMENTS] : undefined;
  const call: ToolCallBlock = {
    type: "tool_call",
    id: textOf(block["id"]),
    name,
    ...(typeof raw === "string" ? { text: raw } : { arguments: input, text: argumentsJson(input) }),
    ...(signature && { signature }),
  };
  return withCache(call, block);
}

/** A tool's result; `names` holds the tools' names by call id. */
export function toolResult(block: Fields, names: ReadonlyMap<string, string>): ToolResultBlock {
  const callId = textOf(block["tool_use_id"]);
  const content = block["content"];
  const result: ToolResultBlock = {
    type: "tool_result",
    callId,
    name: names.get(callId) ?? null,
    content: typeof content === "string" ? [{ type: "text", text: content }] : resultContent(content),
    isError: block["is_error"] === true,
  };
  return withCache(result, block);
}

function resultContent(content: unknown): ToolResultBlock["content"] {
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((block): ToolResultBlock["content"] => {
    switch (block["type"]) {
      case "text":
        return [textBlock(block)];
      case "image":
        return [imageBlock(block) ?? said(block)];
      case "document":
        return documentBlocks(block) ?? [said(block)];
      case "search_result":
        return [searchResult(block)];
      case "tool_reference":
        // All tools of a translated request are at hand from the start; the model only has to hear that this one is meant.
        return [{ type: "text", text: `tool ${textOf(block["tool_name"])} is available` }];
    }
    return [said(block)];
  });
}

/** A block that nobody knows, as the tool's words: a model can read JSON. */
function said(block: Fields): TextBlock {
  return { type: "text", text: JSON.stringify(block) };
}

/** What a thinking block comes to. */
export interface Thought {
  /** Null for one that only carries a call's signature, or says nothing. */
  block: ReasoningBlock | null;
  /** The signature of the call that follows. */
  ofCall: Signature | null;
}

/** A `thinking` or `redacted_thinking` block, its signature out of the wrapper it travelled in. */
export function thought(block: Fields): Thought {
  if (block["type"] === "redacted_thinking") {
    const { signature: encrypted } = unwrapSignature(textOf(block["data"]), NAME, "encrypted");
    return { block: { type: "reasoning", text: "", encrypted }, ofCall: null };
  }
  const text = textOf(block["thinking"]);
  const proof = textOf(block["signature"]);
  const bare: Block | null = text === "" ? null : { type: "reasoning", text };
  if (proof === "" || proof === UNSIGNED) return { block: bare, ofCall: null };
  const { signature, on } = unwrapSignature(proof, NAME);
  if (on === "call") return { block: bare, ofCall: signature };
  const encrypted = on === "encrypted";
  return {
    block: { type: "reasoning", text, ...(encrypted ? { encrypted: signature } : { signature }) },
    ofCall: null,
  };
}
