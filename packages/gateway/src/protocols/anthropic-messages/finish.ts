import type { FinishReason } from "../../core/stream-part.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  // The provider's own tools want another round: for anybody but a client of the dialect the answer is over (WIRE C1).
  pause_turn: "stop",
  compaction: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** The canonical finish reason for a `stop_reason` (WIRE C1); null while there is none. An unknown word is a plain stop. */
export function finishReasonOf(word: unknown): FinishReason | null {
  if (typeof word !== "string" || word === "") return null;
  return Object.hasOwn(REASONS, word) ? (REASONS[word] ?? "stop") : "stop";
}

/** What an answer held, as far as it decides its `stop_reason`. */
export interface Held {
  called: boolean;
  refused: boolean;
}

/** The `stop_reason` for a finish reason. A plain stop after a call is `tool_use`, after a refusal `refusal`. */
export function stopReason(
  finish: FinishReason | null,
  stopSequence: string | null,
  { called, refused }: Held,
): string {
  if (finish === "length") return "max_tokens";
  if (finish === "content_filter") return "refusal";
  if (called) return "tool_use";
  if (refused) return "refusal";
  return stopSequence === null ? "end_turn" : "stop_sequence";
}
