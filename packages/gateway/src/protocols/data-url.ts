/** The two things a `data:` URL holds. */
export interface DataUrl {
  mediaType: string;
  /** Base64, as it stood there. */
  data: string;
}

/** Reads `data:image/png;base64,…`; null for any other text, and for data that is not base64. */
export function readDataUrl(url: string): DataUrl | null {
  if (!url.startsWith("data:")) return null;
  const comma = url.indexOf(",");
  if (comma < 0) return null;
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).split(";");
  if (!parameters.includes("base64")) return null;
  return { mediaType: mediaType || "text/plain", data: url.slice(comma + 1) };
}

/** Base64 bytes as a `data:` URL. */
export function dataUrl({ mediaType, data }: DataUrl): string {
  return `data:${mediaType};base64,${data}`;
}
