import { isObject, type JsonObject } from "../json.ts";
import type { HeardKind } from "../models/mirror.ts";
import { mediaOf } from "../models/mirror.ts";
import { refuse } from "../models/problem.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";

const SPOKEN = ["output_text", "refusal"];
const GIVEN = ["input_text", "input_image", "input_file", "input_audio"];
/** The part types the vendor's message lists. */
const PART_TYPES = ["input_text", "input_image", "output_text", "refusal", "input_file", "input_audio", "summary_text"];
const DETAILS = ["low", "high", "auto", "original"];

/** What was read of one content: its text joined, the kind of each part, pictures and the number of other media. */
export interface Content {
  readonly text: string;
  readonly kinds: readonly HeardKind[];
  readonly images: readonly string[];
  readonly media: number;
}

/** Reads the content of a message or the output of a tool: a string or parts. `spoken`: the assistant's own. */
export function readContent(value: unknown, at: string, spoken: boolean): Content {
  if (value === undefined) return missing(at);
  if (typeof value === "string") return { text: value, kinds: ["text"], images: [], media: 0 };
  if (!Array.isArray(value)) return wrongType(at, "one of a string or an array of objects", value);
  const parts = value.map((part: unknown, i) => readPart(part, `${at}[${i}]`, spoken));
  return {
    text: parts.map((part) => part.text).join(""),
    kinds: parts.map((part) => part.kind),
    images: parts.flatMap((part) => (part.image === null ? [] : [part.image])),
    media: parts.filter((part) => part.kind !== "text" && part.kind !== "refusal").length,
  };
}

interface ReadPart {
  readonly kind: HeardKind;
  readonly text: string;
  readonly image: string | null;
}

function readPart(part: unknown, at: string, spoken: boolean): ReadPart {
  if (!isObject(part)) return wrongType(at, "an object", part);
  const { type } = part;
  if (type === undefined) return missing(`${at}.type`);
  if (typeof type !== "string" || !PART_TYPES.includes(type)) return notAmong(type, PART_TYPES, at);
  const allowed = spoken ? SPOKEN : GIVEN;
  if (!allowed.includes(type)) return notAmong(type, allowed, at);
  if (type === "input_text" || type === "output_text")
    return { kind: "text", text: textOf(part, at, "text"), image: null };
  if (type === "refusal") return { kind: "refusal", text: textOf(part, at, "refusal"), image: null };
  if (type === "input_image") return { kind: "image", text: "", image: imageOf(part, at) };
  if (type === "input_audio") return { kind: "audio", text: "", image: null };
  if (!["file_data", "file_id", "file_url"].some((field) => typeof part[field] === "string")) {
    missing(`${at}.file_id`);
  }
  return { kind: "file", text: "", image: null };
}

function textOf(part: JsonObject, at: string, field: string): string {
  const text = part[field];
  if (text === undefined) return missing(`${at}.${field}`);
  return typeof text === "string" ? text : wrongType(`${at}.${field}`, "a string", text);
}

function imageOf({ image_url: url, file_id: file, detail }: JsonObject, at: string): string {
  if (detail != null && (typeof detail !== "string" || !DETAILS.includes(detail)))
    notAmong(detail, DETAILS, `${at}.detail`);
  if (typeof file === "string") return file;
  if (url === undefined) return missing(`${at}.image_url`);
  if (typeof url !== "string") return wrongType(`${at}.image_url`, "a string", url);
  if (!/^(https?:\/\/|data:image\/)/.test(url)) {
    const text = `Invalid '${at}.image_url'. Expected a valid URL, but got a value with an invalid format.`;
    refuse(text, `${at}.image_url`, "invalid_value");
  }
  return mediaOf(url);
}

/** 400: the value is none of those that are supported. */
export function notAmong(value: unknown, supported: readonly string[], at: string): never {
  return refuse(`Invalid value: '${value}'. Supported values are: ${quoted(supported)}.`, at, "invalid_value");
}
