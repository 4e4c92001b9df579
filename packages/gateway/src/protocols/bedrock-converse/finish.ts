import type { FinishReason } from "../../core/stream-part.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
  malformed_model_output: "error",
  malformed_tool_use: "error",
};

/** What an answer held, as far as it decides why it ended. */
export interface Held {
  /** Calls for the client; those that the provider ran itself do not count. */
  called: boolean;
  /** The forced tool that stands for the answer's form was called. */
  formed: boolean;
}

/** The canonical finish reason for a `stopReason` (WIRE C1); null while there is none. An unknown word is a plain stop. */
export function finishReasonOf(word: unknown, { called, formed }: Held): FinishReason | null {
  if (typeof word !== "string" || word === "") return null;
  const reason = Object.hasOwn(REASONS, word) ? (REASONS[word] ?? "stop") : "stop";
  if (reason === "stop") return called ? "tool_calls" : "stop";
  return reason === "tool_calls" && formed && !called ? "stop" : reason;
}
