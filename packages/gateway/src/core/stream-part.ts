import type { Usage } from "@sluicegate/contract";

/** Why a model stopped. Anything a provider adds is mapped to the nearest, or `error`. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error";

/**
 * The closed set of things a stream says, for every provider (SPEC LIFE-4). `choice` is the answer's index (n > 1).
 * `usage` holds only the counts this part reported: later parts override earlier ones field by field.
 */
export type StreamPart =
  | { type: "start"; id: string | null; model: string | null }
  | { type: "text"; choice: number; text: string }
  | { type: "reasoning"; choice: number; text: string; signature?: string }
  | { type: "refusal"; choice: number; text: string }
  | { type: "tool_start"; choice: number; index: number; id: string; name: string }
  | { type: "tool_arguments"; choice: number; index: number; text: string }
  | { type: "tool_end"; choice: number; index: number }
  | { type: "annotation"; choice: number; annotation: unknown }
  | { type: "usage"; usage: Partial<Usage> }
  | { type: "finish"; choice: number; reason: FinishReason }
  | { type: "error"; failure: StreamFailure };

/** An error a provider reported inside a 200 stream. */
export interface StreamFailure {
  /** Status the body itself names, if any. */
  status: number | null;
  /** The event's JSON, for the protocol's classifier. */
  body: unknown;
}
