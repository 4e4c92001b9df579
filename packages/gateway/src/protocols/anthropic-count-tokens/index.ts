import { noUsage } from "@sluicegate/contract";
import { toCanonical } from "../anthropic-messages/canonical.ts";
import { classifyFailure, saidError, statusOf } from "../anthropic-messages/error.ts";
import { betaPath } from "../anthropic-messages/headers.ts";
import { anthropicMessages } from "../anthropic-messages/index.ts";
import { decodeBody } from "../anthropic-messages/request.ts";
import { invalidReply, type Protocol, replyObject, tokenCount } from "../protocol.ts";

const NAME = "anthropic-count-tokens";
const PATH = "/v1/messages/count_tokens";

/**
 * Anthropic's token counter (WIRE A3.4): POST /v1/messages/count_tokens, a Messages body without a cap, answered
 * `{ input_tokens }`. It costs nothing. Errors, headers and the pass-through lane are those of Messages.
 */
export const anthropicCountTokens: Protocol = {
  ...anthropicMessages,
  name: NAME,
  operation: "count_tokens",
  api: "count_tokens",
  clientPaths: [PATH],
  upstreamPath: (call) => betaPath(PATH, call),
  decodeRequest: (request) => decodeBody(request, NAME, "count_tokens"),
  readReply(body, _quirks, nowMs) {
    const reply = replyObject(body);
    if (!reply) return invalidReply("the answer is no JSON object");
    if (saidError(reply)) {
      return { failure: classifyFailure(statusOf(reply) ?? 502, {}, body, nowMs), usage: null };
    }
    if (tokenCount(reply["input_tokens"]) === undefined) return invalidReply("the answer holds no input_tokens");
    return { model: null, usage: noUsage(), finishReason: null, outputChars: 0 };
  },
  streamReader() {
    throw new Error("token counts do not stream");
  },
  translation: {
    family: "count",
    toCanonical,
    encodeCount: (tokens) => Buffer.from(JSON.stringify({ input_tokens: tokens })),
  },
};
