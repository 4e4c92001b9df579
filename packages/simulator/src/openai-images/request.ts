import { isFile } from "../form.ts";
import type { JsonObject } from "../json.ts";
import { type Ask, askFor } from "../models/ask.ts";
import { refuse } from "../models/problem.ts";
import { estimateTokens } from "../models/text.ts";
import { checkBooleans, checkKnown, checkRanges, type Range } from "../openai-ranges.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";

const FIELDS: ReadonlySet<string> = new Set(
  `model prompt n size quality background output_format output_compression moderation partial_images stream style
  response_format user`.split(/\s+/),
);
const EDIT_FIELDS: ReadonlySet<string> = new Set([...FIELDS, "image", "mask", "input_fidelity"]);
const NUMBERS = ["n", "partial_images", "output_compression"];
/** What a picture costs as input. */
const PICTURE_TOKENS = 85;
const RANGES: readonly Range[] = [
  ["n", "integer", 1, 10],
  ["partial_images", "integer", 0, 3],
  ["output_compression", "integer", 0, 100],
];
const SIZES = ["1024x1024", "1024x1536", "1536x1024", "auto"];
const QUALITIES = ["low", "medium", "high", "auto"];
const FORMATS = ["png", "jpeg", "webp"];
const BACKGROUNDS = ["transparent", "opaque", "auto"];
/** Output tokens of one picture by quality: square, portrait, landscape. */
const TOKENS: Readonly<Record<string, readonly [number, number, number]>> = {
  low: [272, 408, 400],
  medium: [1056, 1584, 1568],
  high: [4160, 6240, 6208],
};

/** A request for pictures, made new or of others. */
export interface ImagesRequest {
  readonly ask: Ask;
  readonly prompt: string;
  /** Part of the input tokens that stands for pictures. */
  readonly pictureTokens: number;
  /** Of the DALL·E family: priced by the picture, without usage, with a choice of url or b64_json. */
  readonly older: boolean;
  readonly byUrl: boolean;
  readonly partial: number;
  readonly size: string;
  readonly quality: string;
  readonly background: string;
  readonly format: string;
}

/** Reads and validates the form of POST /v1/images/edits. */
export function readEditsRequest(form: JsonObject, strict: boolean): ImagesRequest {
  if (strict) checkKnown(form, EDIT_FIELDS);
  const given = Array.isArray(form.image) ? form.image : [form.image];
  if (form.image === undefined) missing("image");
  if (!given.every(isFile)) wrongType("image", "a file", form.image);
  const body: Record<string, unknown> = { ...form, stream: form.stream === "true" };
  for (const field of NUMBERS) if (typeof form[field] === "string") body[field] = Number(form[field]);
  const request = readImagesRequest(body, false);
  const pictureTokens = request.older ? 0 : given.length * PICTURE_TOKENS;
  return { ...request, pictureTokens, ask: { ...request.ask, inputTokens: request.ask.inputTokens + pictureTokens } };
}

/** Reads and validates the body of POST /v1/images/generations. */
export function readImagesRequest(body: JsonObject, strict: boolean): ImagesRequest {
  if (strict) checkKnown(body, FIELDS);
  checkRanges(body, RANGES);
  checkBooleans(body, ["stream"]);
  const { prompt, response_format: form, n, partial_images: partial } = body;
  if (prompt === undefined) missing("prompt");
  if (typeof prompt !== "string") return wrongType("prompt", "a string", prompt);
  const older = /(^|\/)dall-e-/.test(String(body.model));
  if (form != null && !older) refuse("Unknown parameter: 'response_format'.", "response_format", "unknown_parameter");
  const size = readWord(body, "size", older ? null : SIZES, "1024x1024");
  const quality = readWord(body, "quality", older ? null : QUALITIES, "medium");
  const pictures = typeof n === "number" ? n : 1;
  const shape = size === "1024x1536" ? 1 : size === "1536x1024" ? 2 : 0;
  const tokens = older ? 0 : (TOKENS[quality]?.[shape] ?? 0);
  return {
    ask: askFor({
      stream: body.stream === true && !older,
      text: prompt,
      inputTokens: older ? 0 : estimateTokens(prompt),
      outputTokens: tokens * pictures,
      choices: pictures,
    }),
    prompt,
    pictureTokens: 0,
    older,
    byUrl: older && form !== "b64_json",
    partial: typeof partial === "number" ? partial : 0,
    size,
    quality,
    background: readWord(body, "background", BACKGROUNDS, "opaque"),
    format: readWord(body, "output_format", FORMATS, "png"),
  };
}

/** `auto` and nothing at all come out as `otherwise`; null for `supported` takes any text. */
function readWord(body: JsonObject, field: string, supported: readonly string[] | null, otherwise: string): string {
  const value = body[field];
  if (value == null || value === "auto") return otherwise;
  if (typeof value !== "string") return wrongType(field, "a string", value);
  if (supported !== null && !supported.includes(value)) {
    refuse(`Invalid value: '${value}'. Supported values are: ${quoted(supported)}.`, field, "invalid_value");
  }
  return value;
}
