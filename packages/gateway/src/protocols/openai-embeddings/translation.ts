import type { Call } from "../../core/call.ts";
import { type Fields, isAbsent, isObject } from "../field-checks.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import { replyObject, type Target, tokenCount } from "../protocol.ts";
import { strictFields } from "../strict-body.ts";
import type { EmbeddingReply, EmbeddingRequest, EmbeddingTranslation, Encoded, Shown } from "../translation.ts";

const FLOAT_BYTES = 4;
/** Members the canonical form holds or the answer is made by, and the gateway's own. */
const HELD: ReadonlySet<string> = new Set([
  ...["model", "input", "dimensions", "encoding_format", "user", "input_type"],
  ...PLATFORM_MEMBERS,
]);
/** Members of other servers of the family that change the vectors (Voyage, Cohere's and NVIDIA's compatible endpoints). */
const MEANT: ReadonlySet<string> = new Set(["output_dtype", "truncation", "truncate", "instruction"]);
/** What vectors are for, in Voyage's and Cohere's words (`input_type`). */
const TASKS: ReadonlyMap<unknown, string> = new Map([
  ["query", "RETRIEVAL_QUERY"],
  ["search_query", "RETRIEVAL_QUERY"],
  ["document", "RETRIEVAL_DOCUMENT"],
  ["search_document", "RETRIEVAL_DOCUMENT"],
  ["classification", "CLASSIFICATION"],
  ["clustering", "CLUSTERING"],
]);

/** The way of OpenAI's embeddings to and from the canonical form. */
export const embeddingTranslation: EmbeddingTranslation = {
  family: "embeddings",
  fieldNames: { texts: "input", task: "input_type" },
  toCanonical,
  inexpressible: ({ foreign }) => foreign.flatMap(({ path, meaning }) => (meaning ? [path] : [])),
  fromCanonical,
  decodeReply,
  encodeReply,
};

function toCanonical({ body }: Call): EmbeddingRequest {
  const { input, dimensions, user } = body;
  const list: unknown[] = Array.isArray(input) ? input : [input];
  const texts = list.filter((item) => typeof item === "string");
  const foreign = Object.entries(body).flatMap(([path, value]) =>
    isAbsent(value) || HELD.has(path) ? [] : [{ path, meaning: MEANT.has(path) }],
  );
  // Tokens mean something to one model only.
  if (texts.length < list.length) foreign.push({ path: "input", meaning: true });
  return {
    texts,
    dimensions: typeof dimensions === "number" ? dimensions : null,
    task: TASKS.get(body["input_type"]) ?? null,
    title: null,
    user: typeof user === "string" && user !== "" ? user : null,
    foreign,
  };
}

/** `encoding_format` is left out: what a provider sends without being asked is read, whichever it is. */
function fromCanonical(request: EmbeddingRequest, target: Target): Encoded {
  const { texts, dimensions, user, task, title } = request;
  const dropped = request.foreign.map(({ path }) => path);
  if (task !== null) dropped.push("task");
  if (title !== null) dropped.push("title");
  const body: Fields = {
    model: target.model,
    input: texts,
    ...(dimensions !== null && { dimensions }),
    ...(user !== null && { user }),
  };
  const strict = target.quirks.strict?.["openai-embeddings"];
  if (strict && user !== null && !strict.members.has("user")) dropped.push("user");
  return { body: Buffer.from(JSON.stringify(strict ? strictFields(body, strict) : body)), dropped };
}

function decodeReply(body: Buffer): EmbeddingReply {
  const reply = replyObject(body) ?? {};
  const data = Array.isArray(reply["data"]) ? reply["data"].filter(isObject) : [];
  const placed = data.map((item, position) => ({ item, at: tokenCount(item["index"]) ?? position }));
  const usage = isObject(reply["usage"]) ? reply["usage"] : {};
  return {
    vectors: placed.sort((one, other) => one.at - other.at).map(({ item }) => vectorOf(item["embedding"])),
    model: typeof reply["model"] === "string" && reply["model"] !== "" ? reply["model"] : null,
    inputTokens: tokenCount(usage["prompt_tokens"]) ?? tokenCount(usage["total_tokens"]) ?? null,
  };
}

/** Floats, or the base64 of their little-endian float32 bytes. */
function vectorOf(embedding: unknown): number[] {
  if (Array.isArray(embedding)) return embedding as number[];
  if (typeof embedding !== "string") return [];
  const bytes = Buffer.from(embedding, "base64");
  return Array.from({ length: Math.floor(bytes.length / FLOAT_BYTES) }, (_, at) => bytes.readFloatLE(at * FLOAT_BYTES));
}

/** In the form the client asked for; OpenAI's own SDKs ask for base64 and take nothing else for it. */
function encodeReply(reply: EmbeddingReply, { call, model }: Shown): Buffer {
  const asBase64 = call.body["encoding_format"] === "base64";
  const tokens = reply.inputTokens ?? 0;
  return Buffer.from(
    JSON.stringify({
      object: "list",
      data: reply.vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: asBase64 ? base64Of(vector) : vector,
      })),
      model: reply.model ?? model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }),
  );
}

/** A vector as the base64 of its little-endian float32 bytes. */
export function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES);
  vector.forEach((value, at) => {
    bytes.writeFloatLE(value, at * FLOAT_BYTES);
  });
  return bytes.toString("base64");
}
