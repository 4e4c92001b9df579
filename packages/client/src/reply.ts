import type { GatewayMetadata, Usage } from "@sluicegate/contract";
import type { AssistantMessage } from "./chat-request.ts";
import type { JsonObject } from "./json-value.ts";

/** Why the model stopped. A word the gateway's API does not know is `error`; `raw` has it. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error";

/** One call the model asks for. */
export interface ToolCall {
  id: string;
  name: string;
  /** Parsed; no arguments at all are `{}`. Undefined when what the model wrote is not JSON. Not validated. */
  arguments: unknown;
  /** As the model wrote them. */
  rawArguments: string;
}

/** What the model said. */
export interface ReplyMessage {
  role: "assistant";
  /** Empty when it only called tools or refused. */
  text: string;
  refusal?: string;
  reasoning?: string;
  toolCalls: ToolCall[];
  /** The message as the wire has it: put it into `messages` to go on with the conversation; nothing is lost. */
  wire: AssistantMessage;
}

/** Who answered. Null: the gateway is set not to say (`expose: minimal`). */
export interface ReplyOrigin {
  requestId: string | null;
  /** The alias that served; the one asked for when the gateway does not say. */
  alias: string;
  deployment: string | null;
  provider: string | null;
  /** The concrete model. */
  model: string;
}

/** A whole answer; `chat` and `stream(…).final()` give the same. */
export interface Reply extends ReplyOrigin {
  message: ReplyMessage;
  /** Null when the answer carries none: unknown is not zero. */
  usage: Usage | null;
  finishReason: FinishReason;
  /** From the call to the last byte as this process saw it, retries included. */
  latencyMs: number;
  /** Null when the price is not known. */
  costUsd: number | null;
  /** What the gateway says about how it served the request. */
  metadata?: GatewayMetadata;
  /** The OpenAI chat completion; for a stream the one its chunks add up to. Only its first choice is in `message`. */
  raw: JsonObject;
}
