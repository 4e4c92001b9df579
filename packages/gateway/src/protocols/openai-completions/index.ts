import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "../openai-answer.ts";
import { readReply } from "../openai-chat/reply.ts";
import { streamReader } from "../openai-chat/stream.ts";
import { classifyFailure } from "../openai-error.ts";
import { EVENT_STREAM, type Protocol } from "../protocol.ts";
import { encodeReply, streamWriter } from "./answer.ts";
import { toCanonical } from "./canonical.ts";
import { decodeRequest, passRequest } from "./request.ts";

const DONE = Buffer.from("data: [DONE]\n\n");
const SSE = { contentType: EVENT_STREAM, keepalive: Buffer.from(": keep-alive\n\n") };

/**
 * OpenAI's legacy Completions (WIRE A4): POST /v1/completions, JSON and server-sent events. Passed through to servers that
 * have it; one prompt can also be put to a chat model as the user's message. Nothing is ever translated towards it.
 */
export const openaiCompletions: Protocol = {
  name: "openai-completions",
  operation: "completions",
  api: "completions",
  clientPaths: ["/v1/completions", "/openai/v1/completions"],
  upstreamPath: () => "/completions",
  decodeRequest,
  encodeError: encodeOpenAiError,
  encodeStreamError: encodeOpenAiStreamError,
  streamShape: () => SSE,
  terminator: DONE,
  endWithMetadata: (held, metadata) => {
    const { request_id: id, model } = metadata;
    const last = {
      id,
      object: "text_completion",
      created: 0,
      model: model ?? "",
      choices: [],
      gateway_metadata: metadata,
    };
    return Buffer.concat([Buffer.from(`data: ${JSON.stringify(last)}\n\n`), held ?? DONE]);
  },
  decorateReply: decorateOpenAiReply,
  passRequest,
  readReply,
  streamReader,
  classifyFailure,
  translation: {
    family: "chat",
    clientOnly: true,
    fieldNames: { max_output_tokens: "max_tokens" },
    toCanonical,
    inexpressible: () => refuse(),
    fromCanonical: () => refuse(),
    decodeReply: () => refuse(),
    encodeReply,
    streamWriter,
  },
};

function refuse(): never {
  throw new Error("nothing is translated towards legacy completions");
}
