import { utf8AsLatin1 } from "../../core/latin1-text.ts";
import { decorateOpenAiReply, encodeOpenAiError } from "../openai-answer.ts";
import { EVENT_STREAM, type Metadata, type Protocol } from "../protocol.ts";
import { toCanonical } from "./canonical.ts";
import { idDresser } from "./dress.ts";
import { fromCanonical, inexpressible } from "./encode.ts";
import { classifyFailure, encodeStreamError } from "./error.ts";
import { passRequest } from "./pass.ts";
import { decodeReply, readReply } from "./reply.ts";
import { decodeRequest } from "./request.ts";
import { streamReader } from "./stream.ts";
import { encodeReply, streamWriter } from "./writer.ts";

const NOTHING = Buffer.alloc(0);
const SSE = { contentType: EVENT_STREAM, keepalive: Buffer.from(": keep-alive\n\n") };
/** Other paths of OpenAI's and Azure's classes (`/openai/responses?api-version=…`). */
const PATHS = ["/v1/responses", "/openai/v1/responses", "/openai/responses"];

/** OpenAI Responses (WIRE A2): POST /v1/responses, JSON and typed server-sent events. */
export const openaiResponses: Protocol = {
  name: "openai-responses",
  operation: "chat",
  api: "responses",
  leastOutputTokens: 16,
  clientPaths: PATHS,
  upstreamPath: () => "/responses",
  decodeRequest,
  encodeError: encodeOpenAiError,
  encodeStreamError,
  streamShape: () => SSE,
  // The last event carries the whole answer: one that did not come cannot be made up.
  terminator: NOTHING,
  endWithMetadata: (held, metadata) => (held ? withMetadata(held, metadata) : NOTHING),
  decorateReply: decorateOpenAiReply,
  passRequest,
  dress: (_call, token, account) => idDresser(token, account),
  readReply,
  streamReader,
  classifyFailure,
  translation: {
    family: "chat",
    fieldNames: {
      response_format: "text.format",
      verbosity: "text.verbosity",
      logprobs: "top_logprobs",
      images: "input.content.input_image",
      image_detail: "input.content.input_image.detail",
      documents: "input.content.input_file",
      audio: "input.content.input_audio",
      tool_result_images: "input.output.input_image",
      custom_tools: "tools",
      strict: "tools.strict",
      reasoning_history: "input.reasoning",
    },
    toCanonical,
    inexpressible,
    fromCanonical,
    decodeReply,
    encodeReply,
    streamWriter,
  },
};

/** The last event's bytes with `gateway_metadata` in its JSON; an end mark without JSON stays as it is. */
function withMetadata(held: Buffer, metadata: Metadata): Buffer {
  if (!held.includes("}")) return held;
  const decorated = decorateOpenAiReply(held.toString("latin1"), utf8AsLatin1(JSON.stringify(metadata)));
  return Buffer.from(decorated, "latin1");
}
