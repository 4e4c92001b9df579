import { decorateOpenAiReply } from "../openai-answer.ts";
import { EVENT_STREAM, type Metadata, type Protocol } from "../protocol.ts";
import type { ChatTranslation } from "../translation.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical } from "./encode.ts";
import { encodeReply } from "./encode-reply.ts";
import { classifyFailure, encodeError, encodeStreamError } from "./error.ts";
import { betaPath, upstreamHeaders } from "./headers.ts";
import { inexpressible } from "./inexpressible.ts";
import { decodeReply, readReply } from "./reply.ts";
import { decodeRequest, passRequest } from "./request.ts";
import { streamReader } from "./stream.ts";
import { NAME, sseEvent } from "./wire.ts";
import { streamWriter } from "./writer.ts";

const PATH = "/v1/messages";
const STOP = Buffer.from(sseEvent("message_stop"));
const SSE = { contentType: EVENT_STREAM, keepalive: Buffer.from(sseEvent("ping")) };

const translation: ChatTranslation = {
  family: "chat",
  fieldNames: {
    max_output_tokens: "max_tokens",
    stop: "stop_sequences",
    response_format: "output_config.format",
    parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
    reasoning: "thinking",
    reasoning_history: "messages.thinking",
    images: "messages.content.image",
    documents: "messages.content.document",
    citations: "messages.content.document.citations",
    context: "messages.content.document.context",
    tool_result_images: "messages.content.tool_result.content",
    strict: "tools.strict",
    user: "metadata.user_id",
  },
  toCanonical,
  inexpressible,
  fromCanonical,
  decodeReply,
  encodeReply,
  streamWriter,
};

/** Anthropic Messages (WIRE A3): POST /v1/messages, JSON and server-sent events. */
export const anthropicMessages: Protocol = {
  name: NAME,
  operation: "chat",
  api: "messages",
  clientPaths: [PATH],
  requestIdHeader: "request-id",
  upstreamPath: (call) => betaPath(PATH, call),
  upstreamHeaders,
  decodeRequest,
  encodeError,
  encodeStreamError,
  streamShape: () => SSE,
  terminator: STOP,
  endWithMetadata: (_held, metadata) => stopWith(metadata),
  decorateReply: decorateOpenAiReply,
  passRequest,
  readReply,
  streamReader,
  classifyFailure,
  translation,
};

/** The end mark with `gateway_metadata` in it: it says nothing else, so that the upstream's own need not be kept. */
function stopWith(metadata: Metadata): Buffer {
  return Buffer.from(sseEvent("message_stop", `,"gateway_metadata":${JSON.stringify(metadata)}`));
}
