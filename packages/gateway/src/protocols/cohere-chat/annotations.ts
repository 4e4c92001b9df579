import type { Annotation } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { NAME } from "./wire.ts";

/** A citation as an annotation: of a page on the web, where its source says where that is, else one of the dialect's own. */
export function annotationOf(citation: Fields): Annotation {
  for (const source of Array.isArray(citation["sources"]) ? citation["sources"].filter(isObject) : []) {
    const document = isObject(source["document"]) ? source["document"] : {};
    const { url, title } = document;
    if (typeof url !== "string" || !/^https?:/i.test(url)) continue;
    const place = (key: string): number | null => (typeof citation[key] === "number" ? citation[key] : null);
    return {
      type: "url_citation",
      url,
      title: typeof title === "string" ? title : null,
      start: place("start"),
      end: place("end"),
    };
  }
  return { type: "opaque", dialect: NAME, value: { citation } };
}
