import type { FinishReason } from "../../core/stream-part.ts";

const REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ["stop", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
  ["end_turn", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["tool_use", "tool_calls"],
  ["content_filter", "content_filter"],
  ["error", "error"],
  ["insufficient_system_resource", "error"],
]);

/** The canonical finish reason for the family's word; null while there is none. An unknown word is a plain stop. */
export function finishReasonOf(word: unknown): FinishReason | null {
  if (typeof word !== "string" || word === "") return null;
  return REASONS.get(word) ?? "stop";
}

/** The status that a finish reason stands for which says that the answer failed; null for one that ends an answer. */
export function failedFinishStatus(word: unknown): number | null {
  if (finishReasonOf(word) !== "error") return null;
  return word === "insufficient_system_resource" ? 503 : 502;
}

/** The family's word for a finish reason: the same, but for clients that speak of functions (`older`). */
export function finishWord(reason: FinishReason, older: boolean): string {
  return reason === "tool_calls" && older ? "function_call" : reason;
}
