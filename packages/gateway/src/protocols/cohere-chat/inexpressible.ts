import type { Block, CanonicalRequest, DocumentBlock } from "../../core/message.ts";
import { documentText } from "../document-words.ts";
import { isObject } from "../field-checks.ts";
import { offeredTools } from "./encode-tools.ts";

/** Bounds of Cohere's own (WIRE B6). */
const STOP_MAX = 5;
const TOP_K_MAX = 500;

/** Fields of meaning of a request that Cohere cannot be told (ruling 17): canonical names, and the client's own paths. */
export function inexpressible(request: CanonicalRequest): string[] {
  const lost = new Set<string>();
  addSampling(request, lost);
  addFormat(request, lost);
  addTools(request, lost);
  addBlocks(request, lost);
  for (const field of request.foreign) if (field.meaning) lost.add(field.path);
  return [...lost];
}

function addSampling(request: CanonicalRequest, lost: Set<string>): void {
  const { temperature, topK, frequencyPenalty, presencePenalty, seed, stop } = request;
  if (temperature !== null && temperature < 0) lost.add("temperature");
  if (topK !== null && (topK < 0 || topK > TOP_K_MAX)) lost.add("top_k");
  if (!isShare(frequencyPenalty)) lost.add("frequency_penalty");
  if (!isShare(presencePenalty)) lost.add("presence_penalty");
  if (seed !== null && seed < 0) lost.add("seed");
  if (request.n > 1) lost.add("n");
  // Its entries are of another form: token ids, without a runner-up.
  if (request.logprobs !== null) lost.add("logprobs");
  if (stop.length > STOP_MAX) lost.add("stop");
}

function isShare(value: number | null): boolean {
  return value === null || (value >= 0 && value <= 1);
}

/** A form of the answer excludes tools, and a schema is an object's, with members. */
function addFormat({ responseFormat, tools, toolChoice }: CanonicalRequest, lost: Set<string>): void {
  if (responseFormat === null) return;
  const callable = tools.length > 0 && toolChoice?.type !== "none";
  const fits = responseFormat.type === "json_object" || isObjectSchema(responseFormat.schema);
  if (callable || !fits) lost.add("response_format");
}

function isObjectSchema(schema: Record<string, unknown>): boolean {
  return schema["type"] === "object" && isObject(schema["properties"]);
}

function addTools(request: CanonicalRequest, lost: Set<string>): void {
  for (const tool of request.tools) if (tool.type === "hosted") lost.add(tool.path);
  const { toolChoice } = request;
  const demands =
    toolChoice?.type === "required" ||
    toolChoice?.type === "named" ||
    (toolChoice?.type === "allowed" && toolChoice.mode === "required");
  if (demands && offeredTools(request).length === 0) lost.add("tool_choice");
}

function addBlocks({ messages }: CanonicalRequest, lost: Set<string>): void {
  for (const { role, blocks } of messages) {
    for (const block of blocks) addBlock(block, role === "user", lost);
  }
}

/** Only a user's message holds more than text. */
function addBlock(block: Block, fromUser: boolean, lost: Set<string>): void {
  if (block.type === "opaque") lost.add(block.path);
  else if (block.type === "image" && !(fromUser && block.source.kind !== "file")) lost.add("images");
  else if (block.type === "document" && !(fromUser && isText(block))) lost.add("documents");
  else if (block.type === "audio") lost.add("audio");
  else if (block.type === "tool_result") {
    for (const inner of block.content) {
      if (inner.type === "image") lost.add("tool_result_images");
      else if (inner.type === "document" && !isText(inner)) lost.add("documents");
    }
  }
}

function isText({ source }: DocumentBlock): boolean {
  return documentText(source) !== null;
}
