import type { Annotation } from "../../core/message.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { NAME } from "./wire.ts";

/** A citation as an annotation: of a page on the web, or one of the dialect's own. */
export function annotationOf(citation: Fields): Annotation {
  const location = isObject(citation["location"]) ? citation["location"] : {};
  const web = isObject(location["web"]) ? location["web"] : {};
  if (typeof web["url"] !== "string") return { type: "opaque", dialect: NAME, value: { citation } };
  const title = typeof citation["title"] === "string" ? citation["title"] : null;
  return { type: "url_citation", url: web["url"], title, start: null, end: null };
}

/** The same as a part of a stream. */
export function citation(value: Fields): StreamPart {
  return { type: "annotation", choice: 0, annotation: annotationOf(value) };
}
