import type { Block, DocumentBlock, MediaSource } from "../../core/message.ts";
import { dataUrl } from "../data-url.ts";
import type { Fields } from "../field-checks.ts";
import { audioFormat, canAttach, canShow } from "./expressible.ts";

const CHAT = "openai-chat";
/** Providers want a name with every file; its ending says the type to some. */
const ENDINGS: Readonly<Record<string, string>> = {
  "application/pdf": ".pdf",
  "text/plain": ".txt",
  "text/markdown": ".md",
  "text/csv": ".csv",
  "text/html": ".html",
};

/** A block as a part of a user's message; null for one that has no place there or cannot be sent (then it is listed). */
export function encodePart(block: Block, dropped: Set<string>): Fields | null {
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
      return canAttach(block) ? encodeDocument(block, dropped) : lost("documents", dropped);
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

/** A text document is text to a model that takes none: with its title and what was noted about it. */
function encodeDocument({ source, title, context, citations }: DocumentBlock, dropped: Set<string>): Fields {
  if (citations) dropped.add("citations");
  if (source.kind === "text") {
    const head = [title, context].filter((line) => line !== undefined && line !== "");
    return { type: "text", text: [...head, source.text].join("\n\n") };
  }
  if (context !== undefined) dropped.add("context");
  if (source.kind === "file") return { type: "file", file: { file_id: source.id } };
  const mediaType = source.mediaType ?? "application/pdf";
  const filename = title ?? `document${ENDINGS[mediaType] ?? ""}`;
  return { type: "file", file: { filename, file_data: urlOf(source) } };
}

function urlOf(source: MediaSource): string {
  if (source.kind === "url") return source.url;
  return source.kind === "base64" ? dataUrl(source) : source.id;
}
