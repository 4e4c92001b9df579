import type { JsonObject } from "../json.ts";

/** One subtitle that lasts as long as the sound, with a comma in its times. */
export function srt(text: string, seconds: number): string {
  return `1\n${clock(0, ",")} --> ${clock(seconds, ",")}\n${text}\n\n`;
}

/** The same for the web. */
export function vtt(text: string, seconds: number): string {
  return `WEBVTT\n\n${clock(0, ".")} --> ${clock(seconds, ".")}\n${text}\n\n`;
}

interface Spoken {
  readonly task: string;
  readonly language: string;
  readonly text: string;
  readonly seconds: number;
  /** Times of the words are wanted. */
  readonly words: boolean;
  /** Who spoke is wanted instead of the details of segments. */
  readonly speakers: boolean;
}

/** The long JSON form: one segment, and words spread evenly over the sound. */
export function verbose({ task, language, text, seconds, words, speakers }: Spoken): JsonObject {
  if (speakers) {
    const segment = { type: "transcript.text.segment", id: "seg_0", speaker: "A", start: 0, end: seconds, text };
    return { task, duration: seconds, text, segments: [segment] };
  }
  const segment = {
    id: 0,
    seek: 0,
    start: 0,
    end: seconds,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: -0.125,
    compression_ratio: 1,
    no_speech_prob: 0,
  };
  return {
    task,
    language,
    duration: seconds,
    text,
    segments: [segment],
    ...(words && { words: timed(text, seconds) }),
  };
}

function timed(text: string, seconds: number): JsonObject[] {
  const words = text.match(/\S+/g) ?? [];
  const each = words.length === 0 ? 0 : seconds / words.length;
  return words.map((word, i) => ({ word, start: i * each, end: (i + 1) * each }));
}

function clock(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  const rest = String(ms % 1000).padStart(3, "0");
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${point}${rest}`;
}
