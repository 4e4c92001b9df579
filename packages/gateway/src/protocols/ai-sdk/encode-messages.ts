import type {
  Block,
  DocumentBlock,
  MediaSource,
  Message,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import { documentText, documentWords } from "../document-words.ts";
import { argumentsObject } from "../tool-arguments.ts";
import { sentToolName } from "../tool-names.ts";
import { answersNothing } from "../turns.ts";
import { provenBy } from "./proof.ts";
import type { Wire } from "./wire.ts";

/**
 * The SDK's prompt. Hints that find no place are added to `dropped`. A file that is elsewhere has `url` for `data`: JSON
 * has no addresses, and the adapter makes it one. Throws invalid_request for a result that answers no call.
 */
export function encodeMessages(messages: readonly Message[], dropped: Set<string>): Wire[] {
  return messages.flatMap((message) => encodeMessage(message, dropped));
}

function encodeMessage({ role, name, blocks }: Message, dropped: Set<string>): Wire[] {
  if (name !== undefined) dropped.add("name");
  for (const block of blocks) if ("cache" in block && block.cache) dropped.add("cache_control");
  if (role === "system") {
    const text = blocks
      .flatMap((block) => (block.type === "text" && block.text !== "" ? [block.text] : []))
      .join("\n\n");
    return text === "" ? [] : [{ role, content: text }];
  }
  const part = { user: userPart, assistant: assistantPart, tool: resultPart }[role];
  const content = blocks.flatMap((block) => part(block, dropped));
  return content.length === 0 ? [] : [{ role, content }];
}

function userPart(block: Block, dropped: Set<string>): Wire[] {
  if (block.type === "text") return textPart(block.text);
  if (block.type === "image") {
    if (block.detail !== undefined) dropped.add("image_detail");
    return filePart(block.source, "image/*");
  }
  if (block.type === "audio") return filePart(block.source, "audio/*");
  if (block.type !== "document") return [];
  if (block.citations) dropped.add("citations");
  return documentPart(block);
}

function textPart(text: string): Wire[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function documentPart(block: DocumentBlock): Wire[] {
  const { source, title, context } = block;
  const text = documentText(source);
  if (text !== null) return textPart(documentWords(block, text));
  if (source.kind === "text") return [];
  const file = filePart(source, "application/pdf").map((part) => ({
    ...part,
    ...(title !== undefined && { filename: title }),
  }));
  return [...textPart(context ?? ""), ...file];
}

function filePart(source: MediaSource, anyType: string): Wire[] {
  if (source.kind === "file") return [];
  if (source.kind === "url") return [{ type: "file", mediaType: source.mediaType ?? anyType, url: source.url }];
  return [{ type: "file", mediaType: source.mediaType, data: source.data }];
}

function assistantPart(block: Block, dropped: Set<string>): Wire[] {
  if (block.type === "text" || block.type === "refusal") return textPart(block.text);
  if (block.type === "reasoning") return reasoningPart(block, dropped);
  return block.type === "tool_call" ? [callPart(block, dropped)] : [];
}

/** Thoughts go back with their proof; those of another maker, or of none, are of no use. */
function reasoningPart({ text, signature, encrypted }: ReasoningBlock, dropped: Set<string>): Wire[] {
  const providerOptions = provenBy(signature ?? encrypted);
  if (providerOptions) return [{ type: "reasoning", text, providerOptions }];
  dropped.add("reasoning_history");
  return [];
}

function callPart(call: ToolCallBlock, dropped: Set<string>): Wire {
  const providerOptions = provenBy(call.signature);
  if (call.signature && !providerOptions) dropped.add("reasoning_history");
  return {
    type: "tool-call",
    toolCallId: call.id,
    toolName: sentToolName(call.name),
    input: call.custom ? { input: call.text } : argumentsObject(call),
    ...(providerOptions && { providerOptions }),
  };
}

function resultPart(block: Block): Wire[] {
  if (block.type !== "tool_result") return [];
  if (block.name === null) throw answersNothing(block.callId, "the messages before it");
  return [
    { type: "tool-result", toolCallId: block.callId, toolName: sentToolName(block.name), output: outputOf(block) },
  ];
}

function outputOf({ content, isError }: ToolResultBlock): Wire {
  const value = content.flatMap((inner): Wire[] => {
    if (inner.type === "text") return textPart(inner.text);
    const text = inner.type === "document" ? documentText(inner.source) : null;
    if (inner.type === "document" && text !== null) return textPart(documentWords(inner, text));
    if (inner.source.kind !== "base64") return [];
    return [{ type: "media", mediaType: inner.source.mediaType, data: inner.source.data }];
  });
  if (value.some((piece) => piece["type"] === "media")) return { type: "content", value };
  const text = value.map((piece) => piece["text"]).join("\n\n");
  return { type: isError ? "error-text" : "text", value: text };
}
