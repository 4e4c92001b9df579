import type { Call } from "../../core/call.ts";
import type { ForeignField } from "../../core/message.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { camelCase, pick, pickList, pickObject } from "../gemini-generate/fields.ts";
import { modelResource } from "../gemini-generate/path.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import { replyObject, type Target, tokenCount } from "../protocol.ts";
import type { EmbeddingReply, EmbeddingRequest, EmbeddingTranslation, Encoded, Shown } from "../translation.ts";
import { isBatch, requestsOf, settingOf } from "./request.ts";

const READ = new Set([
  "content",
  "requests",
  "model",
  "taskType",
  "title",
  "outputDimensionality",
  "embedContentConfig",
]);

/** The way to and from the canonical embedding: texts in, vectors out. A call from elsewhere is always a batch. */
export const translation: EmbeddingTranslation = {
  family: "embeddings",
  fieldNames: { dimensions: "outputDimensionality", task: "taskType", texts: "content.parts" },
  toCanonical,
  inexpressible: (request) => request.foreign.flatMap(({ path, meaning }) => (meaning ? [path] : [])),
  fromCanonical,
  decodeReply,
  encodeReply,
};

function toCanonical({ body }: Call): EmbeddingRequest {
  const foreign: ForeignField[] = unread(body, "");
  const requests = requestsOf(body);
  const texts = requests.map(({ request, path }) => textOf(request, path, foreign));
  const first = requests[0]?.request ?? {};
  // One call, one setting: a batch that wants several is Google's alone.
  const shared = (name: string): unknown => {
    const value = settingOf(first, name);
    const other = requests.find(({ request }) => settingOf(request, name) !== value);
    if (other) foreign.push({ path: `${other.path}${name}`, meaning: name === "outputDimensionality" });
    return other ? undefined : value;
  };
  const [dimensions, task, title] = ["outputDimensionality", "taskType", "title"].map(shared);
  return {
    texts,
    dimensions: typeof dimensions === "number" ? dimensions : null,
    task: typeof task === "string" ? task : null,
    title: typeof title === "string" ? title : null,
    user: null,
    foreign: isBatch(body) ? [...foreign, ...requests.flatMap(({ request, path }) => unread(request, path))] : foreign,
  };
}

function unread(from: Fields, at: string): ForeignField[] {
  return Object.keys(from).flatMap((key) =>
    READ.has(camelCase(key)) || PLATFORM_MEMBERS.includes(key) ? [] : [{ path: `${at}${key}`, meaning: false }],
  );
}

/** The parts of one content are one text. A picture among them is for Google alone. */
function textOf(request: Fields, path: string, foreign: ForeignField[]): string {
  const texts: string[] = [];
  pickList(pickObject(request, "content") ?? {}, "parts").forEach((part, index) => {
    const text = isObject(part) ? part["text"] : undefined;
    if (typeof text === "string") texts.push(text);
    else foreign.push({ path: `${path}content.parts[${index}]`, meaning: true });
  });
  return texts.join("\n");
}

function fromCanonical(request: EmbeddingRequest, { model }: Target): Encoded {
  const { texts, dimensions, task, title, user, foreign } = request;
  const requests = texts.map((text) => ({
    model: modelResource(model),
    content: { parts: [{ text }] },
    ...(task !== null && { taskType: task }),
    ...(title !== null && { title }),
    ...(dimensions !== null && { outputDimensionality: dimensions }),
  }));
  const dropped = [...foreign.map(({ path }) => path), ...(user === null ? [] : ["user"])];
  return { body: Buffer.from(JSON.stringify({ requests })), dropped };
}

function decodeReply(body: Buffer): EmbeddingReply {
  const reply = replyObject(body) ?? {};
  const one = pick(reply, "embedding");
  const list = one === undefined ? pickList(reply, "embeddings") : [one];
  const vectors = list.map((embedding) =>
    isObject(embedding) && Array.isArray(embedding["values"]) ? (embedding["values"] as number[]) : [],
  );
  return { vectors, model: null, inputTokens: inputTokens(reply) };
}

/** Newer models count; older ones say nothing. */
export function inputTokens(reply: Fields): number | null {
  return tokenCount(pick(pickObject(reply, "usageMetadata") ?? {}, "promptTokenCount")) ?? null;
}

function encodeReply({ vectors, inputTokens: tokens }: EmbeddingReply, { call }: Shown): Buffer {
  const embeddings = vectors.map((values) => ({ values }));
  const usage = tokens === null ? {} : { usageMetadata: { promptTokenCount: tokens } };
  const answer = isBatch(call.body) ? { embeddings } : { embedding: embeddings[0] ?? { values: [] } };
  return Buffer.from(JSON.stringify({ ...answer, ...usage }));
}
