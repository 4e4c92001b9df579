import type { FinishReason } from "../../core/stream-part.ts";
import { enumWord } from "./fields.ts";

/** FinishReason by number, for `enum-encoding=int` (google.ai.generativelanguage.v1beta). */
const BY_NUMBER = [
  "",
  "STOP",
  "MAX_TOKENS",
  "SAFETY",
  "RECITATION",
  "OTHER",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MALFORMED_FUNCTION_CALL",
  "IMAGE_SAFETY",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
];

/** WIRE C1. A word that is not here is a plain stop. */
const REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  MODEL_ARMOR: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
  OTHER: "error",
  LANGUAGE: "error",
  MALFORMED_FUNCTION_CALL: "error",
  MALFORMED_RESPONSE: "error",
  MISSING_THOUGHT_SIGNATURE: "error",
  UNEXPECTED_TOOL_CALL: "error",
  TOO_MANY_TOOL_CALLS: "error",
  IMAGE_OTHER: "error",
  NO_IMAGE: "error",
};

/** Google's word for why a candidate ended; undefined while it goes on. */
export function finishWord(value: unknown): string | undefined {
  const word = enumWord(value, BY_NUMBER);
  return word === "" || word === "FINISH_REASON_UNSPECIFIED" ? undefined : word;
}

/** The canonical reason. A call ends with STOP here (49 of 52 recorded), so `called` decides between the two. */
export function finishReasonOf(word: string, called: boolean): FinishReason {
  const reason = Object.hasOwn(REASONS, word) ? (REASONS[word] ?? "stop") : "stop";
  return reason === "stop" && called ? "tool_calls" : reason;
}

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
  error: "OTHER",
};

/** Google's word for a canonical reason. */
export function wordOfReason(reason: FinishReason): string {
  return WORDS[reason];
}

/** What a finish reason that says "this answer failed" is told as: an error body of the provider's family. */
export function failedFinish(
  word: string,
  message: unknown,
): { error: { code: number; message: string; status: string } } {
  const said = typeof message === "string" && message !== "" ? `: ${message}` : "";
  return { error: { code: 502, message: `the answer ended with ${word}${said}`, status: word } };
}
