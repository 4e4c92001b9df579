import type { Call, Capability } from "../../core/call.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody, foundMembers } from "../call-members.ts";
import { bodyJson, keepTexts } from "../exact-json.ts";
import { type Fields, isAbsent, isObject, missingField, wrongField } from "../field-checks.ts";
import { parseJsonBody } from "../json-body.ts";
import type { Edit } from "../json-members.ts";
import { PLATFORM_MEMBERS, platformFields } from "../platform-fields.ts";
import type { ClientRequest, Target } from "../protocol.ts";
import { DIALECT, pick, pickList, pickObject, pickString, spelling } from "./fields.ts";
import { inlineChars, mediaKind, mediaTypeOf } from "./media.ts";
import { withoutForeignProof } from "./own-history.ts";
import { modelResource } from "./path.ts";

/** Bytes a token takes on average; the estimate only has to be of the right size. */
const BYTES_PER_TOKEN = 4;
/** Where the arguments of calls stand in a request. */
export const ARGUMENTS = ["contents", "*", "parts", "*", "functionCall|function_call", "args"] as const;
const NUMBERS = ["temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"];
const COUNTS = ["candidateCount", "maxOutputTokens", "seed", "logprobs"];

/** What the contents of a request tell about it. */
interface ContentFacts {
  needs: Set<Capability>;
  holdsToolResults: boolean;
  inlineChars: number;
}

/**
 * Decodes and checks a generateContent body; the path says the alias and whether a stream is wanted. Field names may be in
 * camel or in snake case. Known fields of the wrong type are refused with their path; unknown ones stay in the bytes.
 */
export function decodeRequest(request: ClientRequest): Call {
  const { raw, header, path } = request;
  const parsed = parseJsonBody(raw, header("content-type"));
  const { body } = parsed;
  const { members, modelAt } = foundMembers(raw, parsed);
  const facts = readContents(body);
  const config = generationConfigOf(body);
  const thinking = pickObject(config, "thinkingConfig") ?? {};
  readTools(body, config, facts.needs);
  const candidates = pick(config, "candidateCount");
  const cap = pick(config, "maxOutputTokens");
  return {
    dialect: DIALECT,
    operation: "chat",
    alias: path.alias ?? "",
    stream: path.stream === true,
    needs: facts.needs,
    maxOutputTokens: typeof cap === "number" ? cap : null,
    choices: typeof candidates === "number" ? Math.max(1, candidates) : 1,
    inputTokensEstimate: Math.max(1, Math.ceil((raw.length - facts.inlineChars) / BYTES_PER_TOKEN)),
    holdsToolResults: facts.holdsToolResults,
    // 2.5 and later think unless they are told not to; only a client that asks for it waits for it knowingly.
    reasons: pick(thinking, "thinkingBudget") !== 0 && Object.keys(thinking).length > 0,
    showsUsage: true,
    platform: platformFields(body, request),
    path: { query: path.query },
    dialectHeaders: {},
    pinnedTo: null,
    raw,
    body,
    members,
    modelAt,
  };
}

/**
 * The client's bytes: the path names the model upstream, so only a body that repeats it and platform members are changed, and
 * a history that other providers left their proofs in.
 */
export function passRequest(call: Call, { model }: Target): Bytes {
  const edits = new Map<string, Edit>();
  if (Object.hasOwn(call.body, "model")) edits.set("model", { value: JSON.stringify(modelResource(model)) });
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  const contents = withoutForeignProof(call.raw, call.body["contents"], model);
  if (contents) {
    const texts = keepTexts(call.body, () => call.raw, ARGUMENTS);
    edits.set("contents", { value: bodyJson(contents, texts) });
  }
  return edits.size === 0 ? call.raw : editBody(call, edits, []);
}

/** `generationConfig`, its numbers checked; empty where there is none. */
export function generationConfigOf(body: Fields): Fields {
  const config = pick(body, "generationConfig");
  if (config === undefined) return {};
  const at = spelling(body, "generationConfig");
  if (!isObject(config)) throw wrongField(at, "an object");
  for (const key of [...NUMBERS, ...COUNTS]) {
    const value = pick(config, key);
    if (value === undefined) continue;
    const path = `${at}.${spelling(config, key)}`;
    if (typeof value !== "number" || !Number.isFinite(value)) throw wrongField(path, "a number");
    if (COUNTS.includes(key) && !Number.isInteger(value)) throw wrongField(path, "a whole number");
  }
  const stop = pick(config, "stopSequences");
  if (stop !== undefined && !(Array.isArray(stop) && stop.every((text) => typeof text === "string"))) {
    throw wrongField(`${at}.${spelling(config, "stopSequences")}`, "an array of strings");
  }
  return config;
}

function readContents(body: Fields): ContentFacts {
  const given = pick(body, "contents");
  if (given === undefined) throw missingField("contents", "an array with at least one content { role, parts }");
  // One content for a list of one is what the older libraries send.
  const contents = Array.isArray(given) ? given : [given];
  if (contents.length === 0) throw wrongField("contents", "an array with at least one content");
  const facts: ContentFacts = { needs: new Set(), holdsToolResults: false, inlineChars: 0 };
  contents.forEach((content: unknown, index) => {
    const path = `contents[${index}]`;
    if (!isObject(content)) throw wrongField(path, "an object with role and parts");
    const role = content["role"];
    if (!isAbsent(role) && typeof role !== "string") throw wrongField(`${path}.role`, "user or model");
    readParts(content, path, facts);
  });
  return facts;
}

function readParts(content: Fields, path: string, facts: ContentFacts): void {
  let calls = 0;
  pickList(content, "parts").forEach((part, index) => {
    const at = `${path}.parts[${index}]`;
    if (!isObject(part)) throw wrongField(at, "an object: { text }, { inlineData }, { functionCall }, …");
    if (!isAbsent(part["text"]) && typeof part["text"] !== "string") throw wrongField(`${at}.text`, "a string");
    readMediaOf(part, facts);
    facts.inlineChars += pickString(part, "thoughtSignature")?.length ?? 0;
    const response = pickObject(part, "functionResponse");
    if (response) for (const inner of pickList(response, "parts")) if (isObject(inner)) readMediaOf(inner, facts);
    if (namedOf(part, "functionCall", at)) calls++;
    if (namedOf(part, "functionResponse", at)) facts.holdsToolResults = true;
  });
  if (calls > 1) facts.needs.add("parallel_tools");
}

function readMediaOf(part: Fields, facts: ContentFacts): void {
  facts.inlineChars += inlineChars(part);
  const kind = kindOf(part);
  if (kind === "image") facts.needs.add("vision");
  if (kind === "document") facts.needs.add("documents");
  if (kind === "audio") facts.needs.add("audio");
}

function kindOf(part: Fields): ReturnType<typeof mediaKind> {
  const media = pickObject(part, "inlineData") ?? pickObject(part, "fileData");
  if (!media) return null;
  const uri = pickString(media, "fileUri");
  return mediaKind(pickString(media, "mimeType") ?? (uri === undefined ? "" : (mediaTypeOf(uri) ?? "")));
}

/** Is there a call, or the result of one? Both must name their function. */
function namedOf(part: Fields, member: string, path: string): boolean {
  const value = pick(part, member);
  if (value === undefined) return false;
  const at = `${path}.${spelling(part, member)}`;
  if (!isObject(value)) throw wrongField(at, "an object");
  if (typeof value["name"] !== "string" || value["name"] === "") throw wrongField(`${at}.name`, "a non-empty string");
  return true;
}

function readTools(body: Fields, config: Fields, needs: Set<Capability>): void {
  const tools = pickList(body, "tools");
  tools.forEach((tool, index) => {
    if (!isObject(tool)) throw wrongField(`tools[${index}]`, "an object");
    pickList(tool, "functionDeclarations").forEach((declaration, place) => {
      const at = `tools[${index}].${spelling(tool, "functionDeclarations")}[${place}]`;
      if (!isObject(declaration)) throw wrongField(at, "an object");
      if (typeof declaration["name"] !== "string" || declaration["name"] === "") {
        throw wrongField(`${at}.name`, "a non-empty string");
      }
    });
  });
  if (tools.length > 0) needs.add("tools");
  if (pick(config, "responseSchema") !== undefined || pick(config, "responseJsonSchema") !== undefined) {
    needs.add("json_schema");
  }
  if (pick(config, "responseLogprobs") === true) needs.add("logprobs");
  const candidates = pick(config, "candidateCount");
  if (typeof candidates === "number" && candidates > 1) needs.add("n");
}
