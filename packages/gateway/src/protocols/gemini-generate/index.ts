import { decorateOpenAiReply } from "../openai-answer.ts";
import type { Protocol } from "../protocol.ts";
import { toCanonical } from "./canonical.ts";
import { fromCanonical } from "./encode.ts";
import { classifyFailure, encodeError, encodeStreamError } from "./error.ts";
import { FIELD_NAMES, inexpressible } from "./expressible.ts";
import { DIALECT } from "./fields.ts";
import { dress, metadataEvent, streamShape } from "./framing.ts";
import { matchModelPath, upstreamModelPath } from "./path.ts";
import { decodeReply, encodeReply, readReply } from "./reply.ts";
import { decodeRequest, passRequest } from "./request.ts";
import { streamReader } from "./stream.ts";
import { streamWriter } from "./writer.ts";

const METHODS = ["generateContent", "streamGenerateContent"];

/**
 * Gemini's generateContent (WIRE B4): POST /v1beta/models/{alias}:generateContent and :streamGenerateContent, the latter as
 * server-sent events (`alt=sse`) or as one JSON array. Upstream streams are always events.
 */
export const geminiGenerate: Protocol = {
  name: DIALECT,
  operation: "chat",
  api: "generate",
  clientPaths: [],
  matchPath: (path, query) => matchModelPath(path, query, METHODS),
  upstreamPath: (call, model) =>
    upstreamModelPath(model, call.stream ? "streamGenerateContent?alt=sse" : "generateContent"),
  decodeRequest,
  encodeError,
  encodeStreamError,
  streamShape,
  terminator: Buffer.alloc(0),
  endWithMetadata: (_held, metadata, call) => metadataEvent(metadata, call),
  decorateReply: decorateOpenAiReply,
  passRequest,
  dress,
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
