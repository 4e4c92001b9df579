import type { Annotation } from "../../core/message.ts";
import { dataUrl, readDataUrl } from "../data-url.ts";
import { type Fields, isObject } from "../field-checks.ts";

const CHAT = "openai-chat";

/** What only this dialect can say, as the members of a message that say it. */
export function opaque(value: Fields): Annotation {
  return { type: "opaque", dialect: CHAT, value };
}

/** One entry of `annotations`: a citation, or what only its sender knows. */
export function readAnnotation(entry: unknown): Annotation {
  const cited = isObject(entry) && entry["type"] === "url_citation" ? entry["url_citation"] : null;
  if (!isObject(cited) || typeof cited["url"] !== "string") return opaque({ annotations: [entry] });
  return {
    type: "url_citation",
    url: cited["url"],
    title: typeof cited["title"] === "string" ? cited["title"] : null,
    start: numberOrNull(cited["start_index"]),
    end: numberOrNull(cited["end_index"]),
  };
}

/** The pictures (`images`, OpenRouter) and the sound (`audio`) of a message or a delta. */
export function readMedia(message: Fields): Annotation[] {
  const found: Annotation[] = [];
  const { audio, images } = message;
  if (isObject(audio)) {
    const { data } = audio;
    // Streams are always pcm16, and nothing says what else it is.
    if (typeof data === "string" && data !== "") found.push({ type: "media", mediaType: "audio/pcm", data });
    // Some send all of it empty where there is none (Snowflake).
    else if (audio["id"] || audio["transcript"]) found.push(opaque({ audio }));
  }
  for (const image of Array.isArray(images) ? images : []) {
    const named = isObject(image) ? image["image_url"] : null;
    const url = isObject(named) ? named["url"] : named;
    const inline = typeof url === "string" ? readDataUrl(url) : null;
    found.push(inline ? { type: "media", ...inline } : opaque({ images: [image] }));
  }
  return found;
}

/** An annotation as members of a message or a delta; null for what this dialect has no word for. */
export function sayAnnotation(annotation: Annotation): Fields | null {
  if (annotation.type === "url_citation") {
    const { url, title, start, end } = annotation;
    return {
      annotations: [
        {
          type: "url_citation",
          url_citation: { start_index: start ?? 0, end_index: end ?? 0, title: title ?? "", url },
        },
      ],
    };
  }
  if (annotation.type === "media") {
    const { mediaType, data } = annotation;
    if (mediaType.startsWith("audio/")) return { audio: { data } };
    return { images: [{ type: "image_url", image_url: { url: dataUrl({ mediaType, data }) } }] };
  }
  return annotation.dialect === CHAT && isObject(annotation.value) ? annotation.value : null;
}

/** Several of them in one message. */
export function sayAnnotations(annotations: readonly Annotation[]): Fields {
  const message: Fields = {};
  for (const annotation of annotations) {
    for (const [key, value] of Object.entries(sayAnnotation(annotation) ?? {})) {
      const there = message[key];
      message[key] = Array.isArray(there) && Array.isArray(value) ? [...there, ...value] : value;
    }
  }
  return message;
}

function numberOrNull(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
