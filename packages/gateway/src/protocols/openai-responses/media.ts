import type { MediaSource } from "../../core/message.ts";
import { readDataUrl } from "../data-url.ts";

const DIALECT = "openai-responses";
/** Uploads at OpenAI are known to both of its chat protocols. */
const OWN_UPLOADS = new Set([DIALECT, "openai-chat"]);

/** Where an image or a file is: a data URL, bare base64 (then of `bareType`), a URL, or an upload. Null: nowhere. */
export function mediaSource(data: unknown, fileId: unknown, bareType?: string): MediaSource | null {
  if (typeof data === "string" && data !== "") {
    const inline = readDataUrl(data);
    if (inline) return { kind: "base64", ...inline };
    if (/^[a-z][a-z0-9+.-]*:/i.test(data)) return { kind: "url", url: data, mediaType: null };
    if (bareType !== undefined) return { kind: "base64", data, mediaType: bareType };
  }
  return typeof fileId === "string" && fileId !== "" ? { kind: "file", id: fileId, dialect: DIALECT } : null;
}

/** An upload of another vendor, which this protocol's providers cannot reach. */
export function isForeignFile(source: MediaSource | { kind: "text" }): boolean {
  return source.kind === "file" && !OWN_UPLOADS.has(source.dialect);
}
