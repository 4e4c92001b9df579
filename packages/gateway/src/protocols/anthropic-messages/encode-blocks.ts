import type {
  Block,
  CacheMarker,
  DocumentBlock,
  ImageBlock,
  MediaSource,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import { argumentsObject } from "../tool-arguments.ts";
import { NAME, type Wire } from "./wire.ts";

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);
const PDF = "application/pdf";
const PLAIN_TEXT = /^text\/plain\b/i;
/** The one parameter of a free-text tool that is told as a function. */
export const CUSTOM_INPUT = "input";

/** Whether a block can be said; what only another dialect can say, a sound, and pictures or files of a strange kind cannot. */
export function canSay(block: Block): boolean {
  switch (block.type) {
    case "image":
      return imageSource(block.source) !== null;
    case "document":
      return documentSource(block.source) !== null;
    case "audio":
      return false;
    case "opaque":
      return block.dialect === NAME;
    case "tool_result":
      return block.content.every(canSay);
    default:
      return true;
  }
}

/** A block that stands for itself: not a call, a result or a thought. Null for one that cannot be said or says nothing. */
export function plainBlock(block: Block): Wire | null {
  switch (block.type) {
    case "text":
      // Anthropic refuses text without a letter in it.
      return block.text.trim() === "" ? null : withCache({ type: "text", text: block.text }, block.cache);
    case "refusal":
      return block.text.trim() === "" ? null : { type: "text", text: block.text };
    case "image":
      return image(block);
    case "document":
      return document(block);
    case "opaque":
      return block.dialect === NAME ? { ...(block.value as Wire) } : null;
    default:
      return null;
  }
}

/** Thoughts that this dialect made, with their proof: none of anybody else. */
export function ownThoughts({ text, signature, encrypted }: ReasoningBlock): Wire[] {
  const blocks: Wire[] = [];
  if (signature?.dialect === NAME) blocks.push({ type: "thinking", thinking: text, signature: signature.value });
  if (encrypted?.dialect === NAME) blocks.push({ type: "redacted_thinking", data: encrypted.value });
  return blocks;
}

/** A call under an id and a name of this dialect. */
export function callBlock(call: ToolCallBlock, id: string, name: string): Wire {
  const input = call.custom ? { [CUSTOM_INPUT]: call.text } : argumentsObject(call);
  return withCache({ type: "tool_use", id, name, input }, call.cache);
}

/** A result under the id its call has upstream. */
export function resultBlock(result: ToolResultBlock, id: string): Wire {
  const content = result.content.flatMap((block) => plainBlock(block) ?? []);
  return withCache(
    {
      type: "tool_result",
      tool_use_id: id,
      ...(content.length > 0 && { content }),
      ...(result.isError && { is_error: true }),
    },
    result.cache,
  );
}

/** Adds a cache marker. */
export function withCache(block: Wire, cache: CacheMarker | undefined): Wire {
  if (!cache) return block;
  return { ...block, cache_control: { type: "ephemeral", ...(cache.ttl !== null && { ttl: cache.ttl }) } };
}

function image(block: ImageBlock): Wire | null {
  const source = imageSource(block.source);
  return source && withCache({ type: "image", source }, block.cache);
}

function document(block: DocumentBlock): Wire | null {
  const source = documentSource(block.source);
  if (!source) return null;
  return withCache(
    {
      type: "document",
      source,
      ...(block.title !== undefined && { title: block.title }),
      ...(block.context !== undefined && { context: block.context }),
      ...(block.citations !== undefined && { citations: { enabled: block.citations } }),
    },
    block.cache,
  );
}

function imageSource(source: MediaSource): Wire | null {
  if (source.kind !== "base64") return elsewhere(source);
  const mediaType = source.mediaType.toLowerCase() === "image/jpg" ? "image/jpeg" : source.mediaType.toLowerCase();
  return IMAGE_TYPES.has(mediaType) ? { type: "base64", media_type: mediaType, data: source.data } : null;
}

function documentSource(source: DocumentBlock["source"]): Wire | null {
  if (source.kind === "text") return { type: "text", media_type: "text/plain", data: source.text };
  if (source.kind !== "base64") return elsewhere(source);
  if (source.mediaType.toLowerCase() === PDF) return { type: "base64", media_type: PDF, data: source.data };
  if (!PLAIN_TEXT.test(source.mediaType)) return null;
  return { type: "text", media_type: "text/plain", data: Buffer.from(source.data, "base64").toString("utf8") };
}

/** By URL, which Anthropic fetches itself, or by the id of an upload, which only the vendor that has it knows. */
function elsewhere(source: Exclude<MediaSource, { kind: "base64" }>): Wire | null {
  if (source.kind === "url") return /^https?:/i.test(source.url) ? { type: "url", url: source.url } : null;
  return source.dialect === NAME ? { type: "file", file_id: source.id } : null;
}
