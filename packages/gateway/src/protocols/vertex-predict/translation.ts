import { type Fields, isObject } from "../field-checks.ts";
import { replyObject, tokenCount } from "../protocol.ts";
import type { EmbeddingReply, EmbeddingRequest, EmbeddingTranslation, Encoded } from "../translation.ts";

/** The way of Vertex's embeddings from the canonical form and back: an instance a text, `outputDimensionality` for all of them. */
export const translation: EmbeddingTranslation = {
  family: "embeddings",
  fieldNames: {},
  toCanonical() {
    throw new Error("no client speaks vertex-predict");
  },
  inexpressible: ({ foreign }) => foreign.flatMap(({ path, meaning }) => (meaning ? [path] : [])),
  fromCanonical,
  decodeReply,
  encodeReply() {
    throw new Error("no client speaks vertex-predict");
  },
};

/** A title goes with documents alone: with any other task it is a 400. */
function fromCanonical({ texts, dimensions, task, title, user, foreign }: EmbeddingRequest): Encoded {
  const dropped = foreign.map(({ path }) => path);
  if (user !== null) dropped.push("user");
  const titled = title !== null && task === "RETRIEVAL_DOCUMENT";
  if (title !== null && !titled) dropped.push("title");
  const instances = texts.map((content) => ({
    content,
    ...(task !== null && { task_type: task }),
    ...(titled && { title }),
  }));
  const body: Fields = {
    instances,
    ...(dimensions !== null && { parameters: { outputDimensionality: dimensions } }),
  };
  return { body: Buffer.from(JSON.stringify(body)), dropped };
}

function decodeReply(body: Buffer): EmbeddingReply {
  const reply = replyObject(body) ?? {};
  return {
    vectors: predictions(reply).map(({ values }) => (Array.isArray(values) ? (values as number[]) : [])),
    model: null,
    inputTokens: inputTokens(reply),
  };
}

/** The embedding of each instance: `values`, and `statistics` of its tokens. */
export function predictions(reply: Fields): Fields[] {
  const list = reply["predictions"];
  return (Array.isArray(list) ? list : []).map((one: unknown) =>
    isObject(one) && isObject(one["embeddings"]) ? one["embeddings"] : {},
  );
}

/** Each instance counts its own; null where none does. */
export function inputTokens(reply: Fields): number | null {
  const counts = predictions(reply).map(({ statistics }) =>
    isObject(statistics) ? tokenCount(statistics["token_count"]) : undefined,
  );
  return counts.some((count) => count !== undefined)
    ? counts.reduce((sum: number, count) => sum + (count ?? 0), 0)
    : null;
}
