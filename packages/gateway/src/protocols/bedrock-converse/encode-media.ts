import type { Block, DocumentBlock, ImageBlock } from "../../core/message.ts";
import { entryOf } from "../field-checks.ts";
import { UniqueNames } from "../unique-names.ts";
import type { Wire } from "./wire.ts";

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
};
const WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  "application/pdf": "pdf",
  "text/csv": "csv",
  "application/msword": "doc",
  [WORD]: "docx",
  "application/vnd.ms-excel": "xls",
  [SHEET]: "xlsx",
  "text/html": "html",
  "text/plain": "txt",
  "text/markdown": "md",
};
const NAME_CHARS_MAX = 180;

/** Whether a picture or a document can be sent: Converse takes bytes alone, of certain formats. */
function isSendable(block: ImageBlock | DocumentBlock): boolean {
  return block.type === "image" ? imageFormat(block) !== null : documentFormat(block) !== null;
}

/** A picture as Converse takes it; null for one that it does not. */
export function image(block: ImageBlock): Wire | null {
  const format = imageFormat(block);
  if (format === null || block.source.kind !== "base64") return null;
  return { image: { format, source: { bytes: block.source.data } } };
}

/** The documents of one conversation: their names must be of a certain alphabet, and no two the same. */
export class Documents {
  readonly #names = new UniqueNames();

  /** A document as Converse takes it; null for one that it does not. */
  encode(block: DocumentBlock): Wire | null {
    const format = documentFormat(block);
    const { source, title, context, citations } = block;
    if (format === null || source.kind === "url" || source.kind === "file") return null;
    const bytes = source.kind === "text" ? Buffer.from(source.text).toString("base64") : source.data;
    return {
      document: {
        format,
        name: this.#name(title),
        source: { bytes },
        ...(context !== undefined && context !== "" && { context }),
        ...(citations === true && { citations: { enabled: true } }),
      },
    };
  }

  #name(title = ""): string {
    const clean = title
      .replace(/\.\w{1,5}$/, "")
      .replace(/[^a-zA-Z0-9\s()[\]-]+/g, " ")
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, NAME_CHARS_MAX);
    return this.#names.take(clean === "" ? "document" : clean, (name, n) => `${name} (${n})`);
  }
}

/** Whether Converse has a word for a block at all. */
export function canSay(block: Block): boolean {
  switch (block.type) {
    case "image":
    case "document":
      return isSendable(block);
    case "audio":
    case "opaque":
      return false;
    case "tool_result":
      return block.content.every(canSay);
    default:
      return true;
  }
}

function imageFormat({ source }: ImageBlock): string | null {
  return source.kind === "base64" ? (entryOf(IMAGE_FORMATS, mediaType(source.mediaType)) ?? null) : null;
}

function documentFormat({ source }: DocumentBlock): string | null {
  if (source.kind === "text") return "txt";
  return source.kind === "base64" ? (entryOf(DOCUMENT_FORMATS, mediaType(source.mediaType)) ?? null) : null;
}

function mediaType(written: string): string {
  return (written.split(";")[0] ?? "").trim().toLowerCase();
}
