import type { Usage } from "@sluicegate/contract";
import type { Annotation } from "./message.ts";

/** Why a model stopped. Anything a provider adds is mapped to the nearest, or `error`. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error";

/** Something only its maker can check or read: it goes back to the dialect it came from as it was, elsewhere in a wrapper. */
export interface Signature {
  /** Name of the protocol that made it, for example `anthropic-messages`. */
  dialect: string;
  value: string;
}

/**
 * The closed set of things an answer says, for every provider (SPEC LIFE-4), streamed or not. `choice` is the answer's
 * index (n > 1). Parts of one kind that follow each other are one block, except that a signature ends a reasoning block
 * and tool calls have their own index; calls may be interleaved. `usage` holds only the counts this part reported:
 * later parts override earlier ones field by field. After `finish` nothing but usage follows for that choice.
 */
export type StreamPart =
  | { type: "start"; id: string | null; model: string | null }
  /** `logprobs`: OpenAI's token entries for this text. */
  | { type: "text"; choice: number; text: string; logprobs?: unknown[] }
  /** `text` may be empty where a signature or encrypted thoughts come. */
  | { type: "reasoning"; choice: number; text: string; signature?: Signature; encrypted?: Signature }
  | { type: "refusal"; choice: number; text: string }
  | {
      type: "tool_start";
      choice: number;
      index: number;
      id: string;
      name: string;
      custom?: true;
      signature?: Signature;
    }
  | { type: "tool_arguments"; choice: number; index: number; text: string }
  | { type: "tool_end"; choice: number; index: number }
  | { type: "annotation"; choice: number; annotation: Annotation }
  | { type: "usage"; usage: Partial<Usage> }
  | { type: "finish"; choice: number; reason: FinishReason; stopSequence?: string }
  | { type: "error"; failure: StreamFailure };

/** An error a provider reported inside a 200 stream. */
export interface StreamFailure {
  /** Status the body itself names, if any. */
  status: number | null;
  /** The event's JSON, for the protocol's classifier. */
  body: unknown;
}
