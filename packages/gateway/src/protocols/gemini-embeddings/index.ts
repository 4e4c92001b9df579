import { noUsage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { classifyFailure, encodeError, encodeStreamError } from "../gemini-generate/error.ts";
import { matchModelPath, upstreamModelPath } from "../gemini-generate/path.ts";
import { decorateOpenAiReply } from "../openai-answer.ts";
import { EVENT_STREAM, type FailedReply, invalidReply, type Protocol, type Quirks, replyObject } from "../protocol.ts";
import { decodeRequest, EMBEDDINGS, isBatch, passRequest } from "./request.ts";
import { inputTokens, translation } from "./translation.ts";

const NOTHING = Buffer.alloc(0);
const METHODS = ["embedContent", "batchEmbedContents"];

/** Gemini's embeddings: POST /v1beta/models/{alias}:embedContent and :batchEmbedContents. Never a stream. */
export const geminiEmbeddings: Protocol = {
  name: EMBEDDINGS,
  operation: "embeddings",
  api: "embedContent",
  clientPaths: [],
  matchPath: (path, query) => matchModelPath(path, query, METHODS),
  upstreamPath: (call, model) =>
    upstreamModelPath(
      model,
      call.dialect === EMBEDDINGS && !isBatch(call.body) ? "embedContent" : "batchEmbedContents",
    ),
  decodeRequest,
  encodeError,
  encodeStreamError,
  streamShape: () => ({ contentType: EVENT_STREAM, keepalive: NOTHING }),
  terminator: NOTHING,
  endWithMetadata: () => NOTHING,
  decorateReply: decorateOpenAiReply,
  passRequest,
  readReply,
  streamReader: () => {
    throw new Error("embeddings do not stream");
  },
  classifyFailure,
  translation,
};

function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const tokens = inputTokens(reply);
  const usage = tokens === null ? null : { ...noUsage(), input_tokens: tokens };
  if (holdsError(reply["error"])) {
    return { failure: classifyFailure(statusNamed(reply) ?? 502, {}, body, nowMs), usage };
  }
  if (!reply["embedding"] && !Array.isArray(reply["embeddings"])) {
    return { ...invalidReply("the answer holds no embeddings"), usage };
  }
  return { model: null, usage, finishReason: "stop", outputChars: 0 };
}
