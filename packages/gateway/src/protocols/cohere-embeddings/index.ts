import { noUsage, type Usage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import { classifyCohereFailure } from "../cohere-error.ts";
import { COHERE_TEXTS_MAX, cohereInputType, isCohereTask } from "../cohere-tasks.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Protocol, type Quirks, replyObject, tokenCount } from "../protocol.ts";
import { NO_CLIENTS, refuse } from "../provider-only.ts";
import type { EmbeddingTranslation } from "../translation.ts";
import { vectorsIn } from "./vectors.ts";

/** Models whose vectors are of one size. */
const ONE_SIZE = /-v[123](?:\.0)?$/;

const translation: EmbeddingTranslation = {
  family: "embeddings",
  fieldNames: {},
  toCanonical: refuse,
  inexpressible: ({ texts, dimensions, foreign }, { model }) => [
    ...(texts.length > COHERE_TEXTS_MAX ? ["texts"] : []),
    ...(dimensions !== null && ONE_SIZE.test(model) ? ["dimensions"] : []),
    ...foreign.flatMap(({ path, meaning }) => (meaning ? [path] : [])),
  ],
  fromCanonical({ texts, dimensions, task, title, user, foreign }, { model }) {
    const dropped = foreign.map(({ path }) => path);
    if (title !== null) dropped.push("title");
    if (user !== null) dropped.push("user");
    if (task !== null && !isCohereTask(task)) dropped.push("task");
    const sized = dimensions !== null && !ONE_SIZE.test(model);
    if (dimensions !== null && !sized) dropped.push("dimensions");
    const body = {
      model,
      texts,
      input_type: cohereInputType(task),
      embedding_types: ["float"],
      // A text that is too long is refused, as everywhere else, rather than cut.
      truncate: "NONE",
      ...(sized && { output_dimension: dimensions }),
    };
    return { body: Buffer.from(JSON.stringify(body)), dropped };
  },
  decodeReply(body) {
    const reply = replyObject(body) ?? {};
    return { vectors: vectorsIn(reply) ?? [], model: null, inputTokens: usageOf(reply)?.input_tokens ?? null };
  },
  encodeReply: refuse,
};

/** Cohere's v2 embeddings (WIRE B6): POST /v2/embed, spoken to providers alone. */
export const cohereEmbeddings: Protocol = {
  ...NO_CLIENTS,
  name: "cohere-embeddings",
  operation: "embeddings",
  api: "embed",
  upstreamPath: () => "/v2/embed",
  readReply,
  streamReader: refuse,
  classifyFailure: classifyCohereFailure,
  translation,
};

function readReply(body: Buffer, _quirks: Quirks): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const usage = usageOf(reply);
  if (!vectorsIn(reply)) return { ...invalidReply("the answer holds no embeddings"), usage };
  return { model: null, usage, finishReason: "stop", outputChars: 0 };
}

/** What is billed: texts, and pictures where there are any. */
function usageOf(reply: Fields): Usage | null {
  const billed = isObject(reply["meta"]) ? reply["meta"]["billed_units"] : null;
  if (!isObject(billed)) return null;
  const [texts, images] = [tokenCount(billed["input_tokens"]), tokenCount(billed["image_tokens"])];
  return texts === undefined && images === undefined
    ? null
    : { ...noUsage(), input_tokens: (texts ?? 0) + (images ?? 0) };
}
