import type { AudioBlock, Block, DocumentBlock, ImageBlock, MediaSource } from "../../core/message.ts";
import { documentWords } from "../document-words.ts";
import { type Fields, isObject, missingField, wrongField } from "../field-checks.ts";
import { DIALECT, pickObject, pickString, spelling } from "./fields.ts";

/** Uploads only Google knows: files of the API, objects of its storage. */
const OWN_FILE = /^(?:https:\/\/generativelanguage\.googleapis\.com\/|gs:\/\/|files\/)/;
/** Videos Google finds by their page. */
const VIDEO_PAGE = /^https?:\/\/(?:[\w-]+\.)?(?:youtube\.com|youtu\.be)\//;

const BY_EXTENSION: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  html: "text/html",
  csv: "text/csv",
  mp3: "audio/mp3",
  wav: "audio/wav",
  flac: "audio/flac",
  ogg: "audio/ogg",
};

/** The media type a URL's own ending tells; undefined where it tells none. */
export function mediaTypeOf(url: string): string | undefined {
  return BY_EXTENSION[/\.(\w{2,4})(?:[?#].*)?$/.exec(url)?.[1]?.toLowerCase() ?? ""];
}

/** What a media type makes of a part; null for what only Google takes (video) or nobody has named. */
export function mediaKind(mediaType: string): "image" | "document" | "audio" | null {
  if (mediaType.startsWith("image/")) return "image";
  if (mediaType.startsWith("audio/")) return "audio";
  return mediaType.startsWith("text/") || mediaType === "application/pdf" || mediaType === "application/json"
    ? "document"
    : null;
}

/** Google takes base64 in the alphabet of URLs too, and its SDK for Python writes it; nobody else does. */
function plainBase64(data: string): string {
  return /[-_]/.test(data) ? data.replaceAll("-", "+").replaceAll("_", "/") : data;
}

/** `inlineData` or `fileData` as a block; null when it is neither, or one that only Google can read. Throws for half a one. */
export function readMedia(part: Fields, path: string): ImageBlock | DocumentBlock | AudioBlock | null {
  const inline = pickObject(part, "inlineData");
  if (inline) {
    const at = `${path}.${spelling(part, "inlineData")}`;
    const mediaType = pickString(inline, "mimeType");
    const data = inline["data"];
    if (mediaType === undefined) throw missingField(`${at}.mimeType`, "the media type of the data");
    if (typeof data !== "string") throw wrongField(`${at}.data`, "base64 data");
    return blockOf(mediaType, { kind: "base64", data: plainBase64(data), mediaType }, inline);
  }
  const file = pickObject(part, "fileData");
  if (!file) return null;
  const uri = pickString(file, "fileUri");
  if (uri === undefined) throw missingField(`${path}.${spelling(part, "fileData")}.fileUri`, "the file's URI");
  const given = pickString(file, "mimeType");
  const mediaType = given ?? mediaTypeOf(uri);
  if (mediaType === undefined || VIDEO_PAGE.test(uri)) return null;
  // The canonical id of an upload has no place for its media type, which Google wants with it.
  if (OWN_FILE.test(uri))
    return blockOf(mediaType, { kind: "file", id: fileId(uri, mediaType), dialect: DIALECT }, file);
  return blockOf(mediaType, { kind: "url", url: uri, mediaType: given ?? null }, file);
}

function blockOf(mediaType: string, source: MediaSource, from: Fields): ImageBlock | DocumentBlock | AudioBlock | null {
  const type = mediaKind(mediaType);
  if (type === null) return null;
  const title = pickString(from, "displayName");
  if (type === "document") return { type, source, ...(title !== undefined && { title }) };
  return { type, source };
}

/** An upload and its media type in one id: `image/png;gs://bucket/x`. */
function fileId(uri: string, mediaType: string): string {
  return `${mediaType};${uri}`;
}

/**
 * The part for a picture, a document or a sound. The Gemini API knows no names of files (`displayName` is Vertex's alone). Null
 * where Google cannot be shown it (another vendor's upload). */
export function writeMedia(block: ImageBlock | DocumentBlock | AudioBlock): Fields | null {
  const { source } = block;
  switch (source.kind) {
    case "base64":
      return { inlineData: { mimeType: source.mediaType, data: source.data } };
    case "url":
      return {
        fileData: { mimeType: source.mediaType ?? mediaTypeOf(source.url) ?? usual(block), fileUri: source.url },
      };
    case "file": {
      if (source.dialect !== DIALECT) return null;
      const cut = source.id.indexOf(";");
      return {
        fileData: {
          ...(cut > 0 && { mimeType: source.id.slice(0, cut) }),
          fileUri: source.id.slice(cut + 1),
        },
      };
    }
    case "text":
      return { text: block.type === "document" ? documentWords(block, source.text) : source.text };
  }
}

/** What a URL most likely shows where neither it nor the client says. */
function usual({ type }: Block): string {
  return type === "image" ? "image/jpeg" : type === "audio" ? "audio/mp3" : "application/pdf";
}

/** Characters of base64 in a part: they are no text tokens. */
export function inlineChars(part: Fields): number {
  const data = pickObject(part, "inlineData")?.["data"];
  return isObject(part) && typeof data === "string" ? data.length : 0;
}
