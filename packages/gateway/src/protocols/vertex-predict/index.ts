import { noUsage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { isObject } from "../field-checks.ts";
import { geminiEmbeddings } from "../gemini-embeddings/index.ts";
import { classifyFailure } from "../gemini-generate/error.ts";
import { type FailedReply, invalidReply, type Protocol, type Quirks, replyObject } from "../protocol.ts";
import { inputTokens, predictions, translation } from "./translation.ts";

/**
 * Vertex's `:predict` for its embedding models (WIRE B4). Only providers speak it: clients ask in OpenAI's or Gemini's words,
 * and there is no path of it at the gateway's door. Errors are Google's.
 */
export const vertexPredict: Protocol = {
  ...geminiEmbeddings,
  name: "vertex-predict",
  api: "predict",
  matchPath: () => null,
  upstreamPath: (_call, model) => `/models/${encodeURIComponent(model)}:predict`,
  decodeRequest() {
    throw new Error("no client speaks vertex-predict");
  },
  readReply,
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
  const vectors = predictions(reply);
  const whole = vectors.length > 0 && vectors.every(({ values }) => Array.isArray(values) && values.length > 0);
  if (!whole || !isObject(reply)) return { ...invalidReply("the answer holds no embeddings"), usage };
  return { model: null, usage, finishReason: "stop", outputChars: 0 };
}
