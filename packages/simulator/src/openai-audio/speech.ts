import type { JsonObject } from "../json.ts";
import { askFor } from "../models/ask.ts";
import type { Plan } from "../models/plan.ts";
import { refuse } from "../models/problem.ts";
import { estimateTokens, piecesOf } from "../models/text.ts";
import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import { checkKnown, checkRanges } from "../openai-ranges.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";
import type { Step, WireFormat } from "../wire.ts";
import { mp3, pcm, pcmPiece, wav } from "./sound.ts";

const FIELDS: ReadonlySet<string> = new Set(
  "model input voice instructions response_format speed stream_format".split(" "),
);
const INPUT_CHARS_MAX = 4096;

type Encode = (pieces: number, text: string) => Buffer;

/** Content type and bytes by format. Those that the simulator cannot make are named as asked and hold WAV. */
const FORMATS: ReadonlyMap<string, readonly [type: string, encode: Encode]> = new Map([
  ["mp3", ["audio/mpeg", mp3]],
  ["opus", ["audio/opus", wav]],
  ["aac", ["audio/aac", wav]],
  ["flac", ["audio/flac", wav]],
  ["wav", ["audio/wav", wav]],
  ["pcm", ["audio/pcm", pcm]],
]);

/** OpenAI's speech: POST /v1/audio/speech. A little sound for each word; as events with `stream_format: "sse"`. */
export const openAiSpeech: WireFormat = {
  dialect: "openai-speech",
  streams: (body) => body.stream_format === "sse",
  read(body, strict) {
    if (strict) checkKnown(body, FIELDS);
    checkRanges(body, [["speed", "decimal", 0.25, 4]]);
    const text = readInput(body.input);
    if (body.voice == null) missing("voice");
    const [contentType, encode] = FORMATS.get(readWord(body, "response_format", [...FORMATS.keys()], "mp3")) ?? [
      "",
      wav,
    ];
    const stream = readWord(body, "stream_format", ["audio", "sse"], "audio") === "sse";
    const instructions = typeof body.instructions === "string" ? body.instructions : "";
    return {
      ask: askFor({ stream, text, inputTokens: estimateTokens(text + instructions) }),
      contentType,
      json: (plan) => encode(wordsOf(plan).length, plan.parts.map((part) => part.text).join("")),
      steps: speechSteps,
    };
  },
  errorBody: openAiErrorBody,
  errorStep: openAiErrorStep,
  endStep: null,
};

function wordsOf(plan: Plan): string[] {
  return plan.parts.flatMap(piecesOf);
}

function speechSteps(plan: Plan): Step[] {
  const delta = JSON.stringify({ type: "speech.audio.delta", audio: pcmPiece().toString("base64") });
  const { input, output } = plan.usage;
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  const done = JSON.stringify({ type: "speech.audio.done", ...(plan.reportsUsage && { usage }) });
  return [
    ...wordsOf(plan).map((): Step => ({ kind: "delta", data: delta })),
    { kind: "finish", data: done, reportsUsage: plan.reportsUsage },
  ];
}

function readInput(value: unknown): string {
  if (value === undefined) return missing("input");
  if (typeof value !== "string") return wrongType("input", "a string", value);
  if (value.length > INPUT_CHARS_MAX) {
    const text = `Invalid 'input': string too long. Expected a string with maximum length ${INPUT_CHARS_MAX}, but got a string with length ${value.length} instead.`;
    refuse(text, "input", "string_above_max_length");
  }
  return value;
}

function readWord(body: JsonObject, field: string, supported: readonly string[], otherwise: string): string {
  const value = body[field] ?? otherwise;
  if (typeof value === "string" && supported.includes(value)) return value;
  return refuse(`Invalid value: '${value}'. Supported values are: ${quoted(supported)}.`, field, "invalid_value");
}
