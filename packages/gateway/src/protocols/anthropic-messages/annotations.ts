import type { Annotation } from "../../core/message.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { type Fields, wordOf } from "../field-checks.ts";
import { NAME, UNPROVEN, type Wire } from "./wire.ts";

const WEB = "web_search_result_location";

/** A citation of an answer: a page of the web is everybody's, a place in a document of the request only this dialect's. */
export function annotationOf(citation: Fields): Annotation {
  const { type, url, title } = citation;
  if (type !== WEB || typeof url !== "string") return { type: "opaque", dialect: NAME, value: citation };
  return { type: "url_citation", url, title: typeof title === "string" ? title : null, start: null, end: null };
}

/** The stream part of a citation. */
export function citation(given: Fields): StreamPart {
  return { type: "annotation", choice: 0, annotation: annotationOf(given) };
}

/** What stands beside an answer's text, as a citation of this dialect; null for what it has no word for. */
export function wireCitation(annotation: Annotation): Wire | null {
  if (annotation.type === "url_citation") {
    const { url, title } = annotation;
    // The proof marks it, so that it is taken out before it could reach Anthropic, which would refuse it.
    return { type: WEB, url, title, encrypted_index: UNPROVEN, cited_text: "" };
  }
  if (annotation.type !== "opaque" || annotation.dialect !== NAME) return null;
  const value = annotation.value as Wire;
  return wordOf(value["type"]).endsWith("_location") ? value : null;
}
