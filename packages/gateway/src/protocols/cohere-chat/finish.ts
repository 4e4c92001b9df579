import type { FinishReason } from "../../core/stream-part.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
  ERROR: "error",
  ERROR_TOXIC: "content_filter",
  ERROR_LIMIT: "length",
  TIMEOUT: "error",
};

/** The canonical finish reason for Cohere's word (WIRE C1); null while there is none. An unknown word is a plain stop. */
export function finishReasonOf(word: unknown, called: boolean): FinishReason | null {
  if (typeof word !== "string" || word === "") return null;
  const reason = Object.hasOwn(REASONS, word) ? (REASONS[word] ?? "stop") : "stop";
  return reason === "stop" && called ? "tool_calls" : reason;
}

/** The status that a finish reason stands for which says that the answer failed; null for one that ends an answer. */
export function failedFinishStatus(word: unknown): number | null {
  if (finishReasonOf(word, false) !== "error") return null;
  return word === "TIMEOUT" ? 504 : 502;
}
