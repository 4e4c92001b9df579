import { noUsage } from "@sluicegate/contract";
import type { Call, ReplyFacts } from "../../core/call.ts";
import { isObject } from "../field-checks.ts";
import { classifyFailure } from "../openai-error.ts";
import {
  type ClientRequest,
  type FailedReply,
  invalidReply,
  type Protocol,
  type Quirks,
  replyObject,
  tokenCount,
} from "../protocol.ts";
import { toCanonical } from "./canonical.ts";
import { openaiResponses } from "./protocol.ts";

/** POST /v1/responses/input_tokens (WIRE A2): how many tokens a request would be. Nothing is spent. */
export const openaiResponsesInputTokens: Protocol = {
  ...openaiResponses,
  name: "openai-responses-input-tokens",
  operation: "count_tokens",
  clientPaths: openaiResponses.clientPaths.map((path) => `${path}/input_tokens`),
  upstreamPath: () => "/responses/input_tokens",
  decodeRequest: (request: ClientRequest): Call => ({
    ...openaiResponses.decodeRequest(request),
    dialect: "openai-responses-input-tokens",
    operation: "count_tokens",
    stream: false,
  }),
  readReply,
  translation: {
    family: "count",
    toCanonical,
    encodeCount: (tokens) => Buffer.from(JSON.stringify({ object: "response.input_tokens", input_tokens: tokens })),
  },
};

function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  if (isObject(reply["error"])) return { failure: classifyFailure(502, {}, body, nowMs), usage: noUsage() };
  if (tokenCount(reply["input_tokens"]) === undefined) return invalidReply("the answer holds no input_tokens");
  return { model: null, usage: noUsage(), finishReason: "stop", outputChars: 0 };
}
