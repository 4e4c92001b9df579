import { hash } from "node:crypto";
import type { Block, CanonicalRequest, DocumentBlock, ImageBlock, Message, ToolCallBlock } from "../../core/message.ts";
import { dataUrl } from "../data-url.ts";
import { documentName, documentWords } from "../document-words.ts";
import { sentToolName } from "../tool-names.ts";
import { isForeignFile } from "./media.ts";

const DIALECT = "openai-responses";
/** The longest call id the API takes. */
const CALL_ID_CHARS_MAX = 64;

/** A message's blocks as input items. */
export function inputItems(messages: readonly Message[], dropped: string[]): unknown[] {
  return messages.flatMap((message) => {
    if (message.name !== undefined) dropped.push("name");
    return itemsOf(message, dropped);
  });
}

/** Does any message hold thoughts that this protocol's providers can read again? */
export function holdsOwnThoughts({ messages }: CanonicalRequest): boolean {
  return messages.some(({ blocks }) =>
    blocks.some((block) => block.type === "reasoning" && block.encrypted?.dialect === DIALECT),
  );
}

function itemsOf({ role, blocks }: Message, dropped: string[]): unknown[] {
  const items: unknown[] = [];
  let parts: unknown[] = [];
  const close = (): void => {
    if (parts.length > 0) items.push(messageItem(role, parts));
    parts = [];
  };
  for (const block of blocks) {
    if ("cache" in block && block.cache) dropped.push("cache_control");
    const item = itemOf(block, dropped);
    if (item) {
      close();
      items.push(item);
    } else {
      const part = partOf(block, role === "assistant", dropped);
      if (part) parts.push(part);
    }
  }
  close();
  return items;
}

/** One text alone goes as a plain string, which every server takes. */
function messageItem(role: Message["role"], parts: unknown[]): unknown {
  const [only] = parts as { type: string; text?: string }[];
  const plain = parts.length === 1 && only && (only.type === "input_text" || only.type === "output_text");
  return { type: "message", role, content: plain ? only.text : parts };
}

/** A block that is an item of its own; null for a part of a message. */
function itemOf(block: Block, dropped: string[]): unknown {
  switch (block.type) {
    case "tool_call":
      return callItem(block);
    case "tool_result":
      return {
        type: block.custom ? "custom_tool_call_output" : "function_call_output",
        call_id: callId(block.callId),
        output: resultOutput(block.content, block.isError, dropped),
      };
    case "reasoning":
      if (block.encrypted?.dialect !== DIALECT) {
        dropped.push("reasoning_history");
        return null;
      }
      return {
        type: "reasoning",
        summary: block.text === "" ? [] : [{ type: "summary_text", text: block.text }],
        encrypted_content: block.encrypted.value,
      };
    case "opaque":
      if (block.dialect === DIALECT) return block.value;
      dropped.push(block.path);
      return null;
    default:
      return null;
  }
}

function callItem({ id, name: given, text, custom, arguments: parsed }: ToolCallBlock): unknown {
  const name = sentToolName(given);
  if (custom) return { type: "custom_tool_call", call_id: callId(id), name, input: text };
  const args =
    parsed && (text.trim() === "" || Object.keys(parsed).length === 0) ? JSON.stringify(parsed) : text || "{}";
  return { type: "function_call", call_id: callId(id), name, arguments: args };
}

/** Kept where the API takes it; a longer one is mapped, the same each time. */
function callId(id: string): string {
  return id.length <= CALL_ID_CHARS_MAX ? id : `call_${hash("sha256", id).slice(0, 32)}`;
}

function resultOutput(content: readonly Block[], isError: boolean, dropped: string[]): unknown {
  for (const block of content) if ("cache" in block && block.cache) dropped.push("cache_control");
  const [only] = content;
  const mark = isError ? "Error: " : "";
  if (content.length === 0) return mark;
  if (content.length === 1 && only?.type === "text") return mark + only.text;
  const parts = content.flatMap((block) => partOf(block, false, dropped) ?? []);
  return isError ? [{ type: "input_text", text: mark.trim() }, ...parts] : parts;
}

function partOf(block: Block, isOutput: boolean, dropped: string[]): unknown {
  switch (block.type) {
    case "text":
      return isOutput
        ? { type: "output_text", text: block.text, annotations: [] }
        : { type: "input_text", text: block.text };
    case "refusal":
      return isOutput ? { type: "refusal", refusal: block.text } : { type: "input_text", text: block.text };
    case "image":
      return imagePart(block, isOutput, dropped);
    case "document":
      return documentPart(block, isOutput, dropped);
    case "audio":
      dropped.push("audio");
      return null;
    default:
      return null;
  }
}

function imagePart({ source, detail }: ImageBlock, isOutput: boolean, dropped: string[]): unknown {
  if (isOutput || isForeignFile(source)) {
    dropped.push("images");
    return null;
  }
  const shown = { detail: detail ?? "auto" };
  if (source.kind === "file") return { type: "input_image", file_id: source.id, ...shown };
  const url = source.kind === "url" ? source.url : dataUrl(source);
  return { type: "input_image", image_url: url, ...shown };
}

function documentPart(document: DocumentBlock, isOutput: boolean, dropped: string[]): unknown {
  const { source, title, context, citations } = document;
  if (citations) dropped.push("citations");
  // Text needs no file around it.
  if (source.kind === "text") {
    const body = documentWords(document, source.text);
    return isOutput ? { type: "output_text", text: body, annotations: [] } : { type: "input_text", text: body };
  }
  if (isOutput || isForeignFile(source)) {
    dropped.push("documents");
    return null;
  }
  if (context !== undefined) dropped.push("context");
  const named = title === undefined ? {} : { filename: title };
  if (source.kind === "file") return { type: "input_file", file_id: source.id, ...named };
  if (source.kind === "url") return { type: "input_file", file_url: source.url, ...named };
  // The API wants a name beside data.
  return { type: "input_file", filename: documentName(title, source), file_data: dataUrl(source) };
}
