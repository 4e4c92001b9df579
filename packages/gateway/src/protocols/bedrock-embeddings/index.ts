import { noUsage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import { classifyAwsFailure } from "../aws-error.ts";
import { type FailedReply, invalidReply, type Protocol, type Quirks, replyObject, tokenCount } from "../protocol.ts";
import { NO_CLIENTS, refuse } from "../provider-only.ts";
import type { EmbeddingTranslation } from "../translation.ts";
import { modelNamed, vectorsIn } from "./models.ts";

/** Titan's own member for what the header says. */
const COUNT = '"inputTextTokenCount"';

const translation: EmbeddingTranslation = {
  family: "embeddings",
  fieldNames: {},
  toCanonical: refuse,
  inexpressible: (request, { model }) => [
    ...modelNamed(model).inexpressible(request),
    ...request.foreign.flatMap(({ path, meaning }) => (meaning ? [path] : [])),
  ],
  fromCanonical(request, { model }) {
    const { body, drops } = modelNamed(model);
    const dropped = request.foreign.map(({ path }) => path);
    for (const hint of [...drops, "user"] as const) if (request[hint] !== null) dropped.push(hint);
    return { body: Buffer.from(JSON.stringify(body(request))), dropped };
  },
  decodeReply(body) {
    const reply = replyObject(body) ?? {};
    return { vectors: vectorsIn(reply) ?? [], model: null, inputTokens: inputTokens(reply) ?? null };
  },
  encodeReply: refuse,
};

/** Embeddings of Amazon Bedrock: POST /model/{id}/invoke with a body in the model's own words (Titan, Nova, Cohere). */
export const bedrockEmbeddings: Protocol = {
  ...NO_CLIENTS,
  name: "bedrock-embeddings",
  operation: "embeddings",
  api: "invoke",
  upstreamPath: (_call, model) => `/model/${encodeURIComponent(model)}/invoke`,
  readReply,
  foldHeaders,
  streamReader: refuse,
  classifyFailure: classifyAwsFailure,
  translation,
};

function readReply(body: Buffer, _quirks: Quirks): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const tokens = inputTokens(reply);
  const usage = tokens === undefined ? null : { ...noUsage(), input_tokens: tokens };
  if (!vectorsIn(reply)) return { ...invalidReply("the answer holds no embeddings"), usage };
  return { model: null, usage, finishReason: "stop", outputChars: 0 };
}

/** Some models count in a header alone. */
function foldHeaders(body: Buffer, headers: Readonly<Record<string, string>>): Buffer {
  const count = headers["x-amzn-bedrock-input-token-count"];
  const end = body.lastIndexOf("}");
  if (count === undefined || !/^\d{1,12}$/.test(count) || end < 0 || body.includes(COUNT)) return body;
  return Buffer.concat([body.subarray(0, end), Buffer.from(`,${COUNT}:${Number(count)}}`)]);
}

function inputTokens(reply: Record<string, unknown>): number | undefined {
  return tokenCount(reply["inputTextTokenCount"]);
}
