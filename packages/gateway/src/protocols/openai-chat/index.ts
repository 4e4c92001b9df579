import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "../openai-answer.ts";
import { classifyFailure } from "../openai-error.ts";
import { EVENT_STREAM, type Protocol } from "../protocol.ts";
import { FIELD_NAMES, toCanonical } from "./canonical.ts";
import { decodeReply } from "./decode-reply.ts";
import { fromCanonical } from "./encode.ts";
import { encodeReply } from "./encode-reply.ts";
import { inexpressible } from "./expressible.ts";
import { readReply } from "./reply.ts";
import { decodeRequest, passRequest } from "./request.ts";
import { streamReader } from "./stream.ts";
import { splices } from "./strict.ts";
import { streamWriter } from "./writer.ts";

const DONE = Buffer.from("data: [DONE]\n\n");
const SSE = { contentType: EVENT_STREAM, keepalive: Buffer.from(": keep-alive\n\n") };

/** OpenAI Chat Completions (WIRE A1): POST /v1/chat/completions, JSON and server-sent events. */
export const openaiChat: Protocol = {
  name: "openai-chat",
  operation: "chat",
  api: "chat",
  clientPaths: ["/v1/chat/completions", "/openai/v1/chat/completions"],
  upstreamPath: () => "/chat/completions",
  decodeRequest,
  encodeError: encodeOpenAiError,
  encodeStreamError: encodeOpenAiStreamError,
  streamShape: () => SSE,
  terminator: DONE,
  endWithMetadata: (held, metadata) =>
    Buffer.concat([
      Buffer.from(
        `data: ${JSON.stringify({ id: metadata["request_id"], object: "chat.completion.chunk", created: 0, model: metadata["model"] ?? "", choices: [], gateway_metadata: metadata })}\n\n`,
      ),
      held ?? DONE,
    ]),
  decorateReply: decorateOpenAiReply,
  passRequest,
  splices,
  readReply,
  streamReader,
  classifyFailure,
  translation: {
    family: "chat",
    fieldNames: FIELD_NAMES,
    toCanonical,
    inexpressible,
    fromCanonical,
    decodeReply,
    encodeReply,
    streamWriter,
  },
};
