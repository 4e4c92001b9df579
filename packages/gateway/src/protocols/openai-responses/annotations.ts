import type { Annotation } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";

const DIALECT = "openai-responses";

/** A citation beside text. What is no link (files, containers) only this dialect knows. */
export function readAnnotation(raw: unknown): Annotation {
  if (!isObject(raw) || raw["type"] !== "url_citation" || typeof raw["url"] !== "string") {
    return { type: "opaque", dialect: DIALECT, value: raw };
  }
  return {
    type: "url_citation",
    url: raw["url"],
    title: typeof raw["title"] === "string" ? raw["title"] : null,
    start: typeof raw["start_index"] === "number" ? raw["start_index"] : null,
    end: typeof raw["end_index"] === "number" ? raw["end_index"] : null,
  };
}

/** What an output item is that is neither text, call nor thought: a picture, or what a hosted tool did. */
export function readItemAnnotation(item: Fields): Annotation[] {
  if (item["type"] === "message" || item["type"] === "reasoning") return [];
  if (item["type"] === "image_generation_call" && typeof item["result"] === "string") {
    const format = typeof item["output_format"] === "string" ? item["output_format"] : "png";
    return [{ type: "media", mediaType: `image/${format}`, data: item["result"] }];
  }
  return [{ type: "opaque", dialect: DIALECT, value: item }];
}
