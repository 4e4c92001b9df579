import type { Usage } from "@sluicegate/contract";
import type { JsonObject } from "./json-value.ts";
import type { FinishReason, ReplyOrigin, ToolCall } from "./reply.ts";

/**
 * What a stream is made of: a closed set, so that a `switch` over `type` can be exhaustive.
 * `start` comes first and `finish` last, each exactly once; an error is thrown, it is not a part.
 * `index` of a tool part is the call's place in `reply.message.toolCalls`; calls may interleave,
 * which is why every `tool_end` comes after the last byte of all of them.
 */
export type StreamPart =
  | ({ type: "start" } & ReplyOrigin)
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string; signature?: string }
  | { type: "refusal"; text: string }
  | { type: "tool_start"; index: number; id: string; name: string }
  /** `text` is the next piece of the JSON text. */
  | { type: "tool_arguments"; index: number; id: string; text: string }
  | ({ type: "tool_end"; index: number } & ToolCall)
  /** A citation, as the wire has it. */
  | { type: "annotation"; annotation: JsonObject }
  | { type: "usage"; usage: Usage }
  | { type: "finish"; finishReason: FinishReason };
