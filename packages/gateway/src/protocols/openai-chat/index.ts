import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "../openai-answer.ts";
import { classifyFailure } from "../openai-error.ts";
import type { Protocol } from "../protocol.ts";
import { readReply } from "./reply.ts";
import { decodeRequest, passRequest } from "./request.ts";
import { streamReader } from "./stream.ts";

/** OpenAI Chat Completions (WIRE A1): POST /v1/chat/completions, JSON and server-sent events. */
export const openaiChat: Protocol = {
  name: "openai-chat",
  operation: "chat",
  clientPath: "/v1/chat/completions",
  upstreamPath: "/chat/completions",
  decodeRequest,
  encodeError: encodeOpenAiError,
  encodeStreamError: encodeOpenAiStreamError,
  keepalive: Buffer.from(": keep-alive\n\n"),
  terminator: Buffer.from("data: [DONE]\n\n"),
  encodeStreamMetadata: (metadata) =>
    Buffer.from(
      `data: ${JSON.stringify({ id: metadata["request_id"], object: "chat.completion.chunk", created: 0, model: metadata["model"] ?? "", choices: [], gateway_metadata: metadata })}\n\n`,
    ),
  decorateReply: decorateOpenAiReply,
  passRequest,
  readReply,
  streamReader,
  classifyFailure,
};
