import type { Call } from "../../core/call.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody, foundMembers } from "../call-members.ts";
import { type Fields, isObject, missingField, wrongField } from "../field-checks.ts";
import { pick, pickList, pickObject } from "../gemini-generate/fields.ts";
import { modelResource } from "../gemini-generate/path.ts";
import { parseJsonBody } from "../json-body.ts";
import type { Edit } from "../json-members.ts";
import { plainCall, roughTokens } from "../plain-call.ts";
import { PLATFORM_MEMBERS, platformFields } from "../platform-fields.ts";
import type { ClientRequest, Target } from "../protocol.ts";

/** The name of this protocol. */
export const EMBEDDINGS = "gemini-embeddings";

/** Decodes an embedContent body `{ content }` or a batchEmbedContents body `{ requests: [{ content }] }`. */
export function decodeRequest(request: ClientRequest): Call {
  const { raw, header, path } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  const { members, modelAt } = foundMembers(raw, parsed);
  checkBody(body);
  return plainCall(request, {
    ...{ dialect: EMBEDDINGS, operation: "embeddings", alias: path.alias ?? "" },
    needs: new Set(["embeddings"]),
    inputTokensEstimate: roughTokens(raw.length),
    platform: platformFields(body, request),
    path: { query: path.query },
    ...{ body, members, modelAt },
  });
}

/** A batch, rather than one content. */
export function isBatch(body: Fields): boolean {
  return pick(body, "requests") !== undefined;
}

function checkBody(body: Fields): void {
  if (!isBatch(body)) return checkOne(body, "");
  const requests = pick(body, "requests");
  if (!Array.isArray(requests) || requests.length === 0)
    throw wrongField("requests", "an array with at least one request");
  requests.forEach((request: unknown, index) => {
    if (!isObject(request)) throw wrongField(`requests[${index}]`, "an object with content");
    checkOne(request, `requests[${index}].`);
  });
}

function checkOne(request: Fields, at: string): void {
  const content = pick(request, "content");
  if (content === undefined) throw missingField(`${at}content`, "what to embed, as { parts: [{ text }] }");
  if (!isObject(content)) throw wrongField(`${at}content`, "an object with parts");
  const parts = pickList(content, "parts");
  if (parts.length === 0) throw missingField(`${at}content.parts`, "at least one part");
  parts.forEach((part, index) => {
    if (!isObject(part)) throw wrongField(`${at}content.parts[${index}]`, "an object with text");
  });
  const dimensions = pick(request, "outputDimensionality");
  if (dimensions !== undefined && !Number.isInteger(dimensions)) {
    throw wrongField(`${at}outputDimensionality`, "a whole number");
  }
}

/** The client's bytes with every `model` in them the deployment's: each request of a batch repeats the path's. */
export function passRequest(call: Call, { model }: Target): Bytes {
  const resource = modelResource(model);
  const edits = new Map<string, Edit>();
  if (Object.hasOwn(call.body, "model")) edits.set("model", { value: JSON.stringify(resource) });
  const { requests } = call.body;
  if (Array.isArray(requests) && requests.some((request) => isObject(request) && Object.hasOwn(request, "model"))) {
    const renamed = requests.map((request: unknown) =>
      isObject(request) && Object.hasOwn(request, "model") ? { ...request, model: resource } : request,
    );
    edits.set("requests", { value: JSON.stringify(renamed) });
  }
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  return edits.size === 0 ? call.raw : editBody(call, edits, []);
}

/** The requests of a body, a single one as a batch of one. */
export function requestsOf(body: Fields): { request: Fields; path: string }[] {
  if (!isBatch(body)) return [{ request: body, path: "" }];
  return pickList(body, "requests").flatMap((request, index) =>
    isObject(request) ? [{ request, path: `requests[${index}].` }] : [],
  );
}

/** Where task, title and dimensions are: the request's own members, or (newer) its `embedContentConfig`. */
export function settingOf(request: Fields, name: string): unknown {
  return pick(request, name) ?? pick(pickObject(request, "embedContentConfig") ?? {}, name);
}
