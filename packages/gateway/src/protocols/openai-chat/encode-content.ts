import type { Block, DocumentBlock, MediaSource } from "../../core/message.ts";
import { dataUrl } from "../data-url.ts";
import { documentName, documentText, documentWords } from "../document-words.ts";
import type { Fields } from "../field-checks.ts";
import type { Target } from "../protocol.ts";
import { audioFormat, canAttach, canShow } from "./expressible.ts";

const CHAT = "openai-chat";
/** A block as a part of a user's message; null for one that has no place there or cannot be sent (then it is listed). */
export function encodePart(block: Block, target: Target, dropped: Set<string>): Fields | null {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      if (!canShow(block)) return lost("images", dropped);
      return {
        type: "image_url",
        image_url: { url: urlOf(block.source), ...(block.detail !== undefined && { detail: block.detail }) },
      };
    case "audio": {
      const format = audioFormat(block);
      if (format === null || block.source.kind !== "base64") return lost("audio", dropped);
      return { type: "input_audio", input_audio: { data: block.source.data, format } };
    }
    case "document":
      return canAttach(block, target) ? encodeDocument(block, dropped) : lost("documents", dropped);
    case "opaque":
      return block.dialect === CHAT ? (block.value as Fields) : lost(block.path, dropped);
    default:
      return null;
  }
}

function lost(field: string, dropped: Set<string>): null {
  dropped.add(field);
  return null;
}

/** A text document is text to a model that takes none (WIRE C5): with its title and what was noted about it. */
function encodeDocument(document: DocumentBlock, dropped: Set<string>): Fields {
  const { source, title, context, citations } = document;
  if (citations) dropped.add("citations");
  const text = documentText(source);
  if (text !== null || source.kind === "text") return { type: "text", text: documentWords(document, text ?? "") };
  if (context !== undefined) dropped.add("context");
  if (source.kind === "file") return { type: "file", file: { file_id: source.id } };
  return { type: "file", file: { filename: documentName(title, source), file_data: urlOf(source) } };
}

function urlOf(source: MediaSource): string {
  if (source.kind === "url") return source.url;
  return source.kind === "base64" ? dataUrl(source) : source.id;
}
