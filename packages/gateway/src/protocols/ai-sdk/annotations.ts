import type { Annotation } from "../../core/message.ts";
import type { Fields } from "../field-checks.ts";
import { NAME } from "./wire.ts";

/** What stands beside the text: a source, or a file the model made. */
export function annotationOf(part: Fields): Annotation {
  const { type, url, title, mediaType, data } = part;
  if (type === "file" && typeof mediaType === "string" && typeof data === "string") {
    return { type: "media", mediaType, data };
  }
  if (type === "source" && typeof url === "string") {
    return { type: "url_citation", url, title: typeof title === "string" ? title : null, start: null, end: null };
  }
  return { type: "opaque", dialect: NAME, value: part };
}
