import { DATA, isFile } from "../form.ts";
import type { JsonObject } from "../json.ts";
import { askFor } from "../models/ask.ts";
import type { Plan, Usage } from "../models/plan.ts";
import { refuse } from "../models/problem.ts";
import { estimateTokens, piecesOf } from "../models/text.ts";
import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import { logprobEntries } from "../openai-logprobs.ts";
import { checkKnown } from "../openai-ranges.ts";
import { missing, quoted, wrongType } from "../openai-refusals.ts";
import type { Step, WireFormat } from "../wire.ts";
import { secondsOf, wavText } from "./sound.ts";
import { srt, verbose, vtt } from "./subtitles.ts";

const FIELDS: ReadonlySet<string> = new Set(
  `file model language prompt response_format temperature timestamp_granularities include chunking_strategy
  known_speaker_names known_speaker_references stream`.split(/\s+/),
);
const FORMATS = ["json", "text", "srt", "verbose_json", "vtt", "diarized_json"];
const TOKENS_PER_SECOND = 10;

/** A request to write down what is said. */
interface Hearing {
  readonly task: "transcribe" | "translate";
  readonly format: string;
  readonly language: string;
  readonly seconds: number;
  readonly promptTokens: number;
  /** Told in seconds instead of tokens. */
  readonly byDuration: boolean;
  readonly logprobs: boolean;
  readonly words: boolean;
}

/** OpenAI's transcriptions: POST /v1/audio/transcriptions, a form. Sounds of the simulator's own are understood. */
export const openAiTranscriptions: WireFormat = hearing("transcribe");

/** OpenAI's translations: POST /v1/audio/translations; nothing is translated. */
export const openAiTranslations: WireFormat = hearing("translate");

function hearing(task: Hearing["task"]): WireFormat {
  return {
    dialect: task === "transcribe" ? "openai-transcriptions" : "openai-translations",
    streams: asksForStream,
    read(body, strict) {
      if (strict) checkKnown(body, FIELDS);
      const { file, prompt } = body;
      if (file === undefined) return missing("file");
      if (!isFile(file)) return wrongType("file", "a file", file);
      const request = readHearing(task, body, secondsOf(file[DATA]));
      const text =
        wavText(file[DATA]) ?? (typeof prompt === "string" && prompt !== "" ? prompt : `sound of ${file.filename}`);
      const heard = Math.ceil(request.seconds * TOKENS_PER_SECOND);
      return {
        ask: askFor({ stream: asksForStream(body), text, inputTokens: heard + request.promptTokens }),
        contentType: typeOf(request),
        json: (plan) => written(request, plan),
        steps: (plan) => transcriptSteps(request, plan),
      };
    },
    errorBody: openAiErrorBody,
    errorStep: openAiErrorStep,
    endStep: null,
  };
}

/** Whisper ignores `stream`. */
function asksForStream(body: JsonObject): boolean {
  return body.stream === "true" && !isWhisper(body);
}

function isWhisper({ model }: JsonObject): boolean {
  return /(^|\/)whisper/.test(String(model));
}

function readHearing(task: Hearing["task"], body: JsonObject, seconds: number): Hearing {
  const { response_format: format = "json", model, prompt, language, timestamp_granularities: granularities } = body;
  if (typeof format !== "string" || !FORMATS.includes(format)) {
    refuse(`Invalid value: '${format}'. Supported values are: ${quoted(FORMATS)}.`, "response_format", "invalid_value");
  }
  if (/(^|\/)gpt-4o/.test(String(model)) && ["srt", "vtt", "verbose_json"].includes(String(format))) {
    const text = `response_format '${format}' is not compatible with model '${model}'. Use 'json' or 'text' instead.`;
    refuse(text, "response_format", "unsupported_value");
  }
  return {
    task,
    format: String(format),
    language: typeof language === "string" ? language : "english",
    seconds,
    promptTokens: typeof prompt === "string" ? estimateTokens(prompt) : 0,
    byDuration: isWhisper(body),
    logprobs: list(body.include).includes("logprobs"),
    words: list(granularities).includes("word"),
  };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function typeOf({ format }: Hearing): string {
  if (format === "text" || format === "srt") return "text/plain; charset=utf-8";
  return format === "vtt" ? "text/vtt; charset=utf-8" : "application/json";
}

function written(request: Hearing, plan: Plan): string {
  const { format, seconds, task, language } = request;
  const text = plan.parts.map((part) => part.text).join("");
  if (format === "text") return `${text}\n`;
  if (format === "srt") return srt(text, seconds);
  if (format === "vtt") return vtt(text, seconds);
  const usage = plan.reportsUsage && task === "transcribe" ? { usage: usageOf(request, plan.usage) } : {};
  if (format === "json") {
    const logprobs = request.logprobs ? { logprobs: logprobEntries(plan.parts.flatMap(piecesOf), 0) } : {};
    return JSON.stringify({ text, ...logprobs, ...usage });
  }
  const whole = verbose({ task, language, text, seconds, words: request.words, speakers: format === "diarized_json" });
  return JSON.stringify({ ...whole, ...usage });
}

function transcriptSteps(request: Hearing, plan: Plan): Step[] {
  const pieces = plan.parts.flatMap(piecesOf);
  const steps = pieces.map((delta): Step => {
    const logprobs = request.logprobs ? { logprobs: logprobEntries([delta], 0) } : {};
    return { kind: "delta", data: JSON.stringify({ type: "transcript.text.delta", delta, ...logprobs }) };
  });
  const usage = plan.reportsUsage ? { usage: usageOf(request, plan.usage) } : {};
  const done = { type: "transcript.text.done", text: pieces.join(""), ...usage };
  return [...steps, { kind: "finish", data: JSON.stringify(done), reportsUsage: plan.reportsUsage }];
}

function usageOf({ byDuration, seconds, promptTokens }: Hearing, { input, output }: Usage): JsonObject {
  if (byDuration) return { type: "duration", seconds: Math.ceil(seconds) };
  const text = Math.min(promptTokens, input);
  return {
    type: "tokens",
    total_tokens: input + output,
    input_tokens: input,
    input_token_details: { text_tokens: text, audio_tokens: input - text },
    output_tokens: output,
  };
}
