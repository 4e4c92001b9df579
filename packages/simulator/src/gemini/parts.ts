import { isObject, type JsonObject } from "../json.ts";
import type { HeardKind } from "../models/mirror.ts";
import { tokensOfBytes } from "../models/text.ts";
import { isOwn } from "../signature.ts";
import { badValue, listAt, membersOf, stringAt, wrong } from "./refusals.ts";

const PART = `text thought thoughtSignature inlineData fileData functionCall functionResponse executableCode
  codeExecutionResult toolCall toolResponse videoMetadata mediaResolution partMetadata`.split(/\s+/);
const DATA = PART.filter(
  (name) => !/^(thought|thoughtSignature|videoMetadata|mediaResolution|partMetadata)$/.test(name),
);
/** What stands in for the signature of a call that another model made. */
const BYPASSES = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];
const MEDIA_TOKENS = 85;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const MEDIA = /^(image|audio|video|text)\/[\w.+-]+(;.*)?$|^application\/(pdf|json|x-javascript|x-python|rtf)$/;

/** A part that was read. */
export interface InputPart {
  readonly kind: HeardKind;
  /** What the user or the model says; of a function response, its result. */
  readonly text: string;
  readonly thought: boolean;
  /** Name and id of a function called or answered. */
  readonly name: string | null;
  readonly id: string | null;
  readonly signed: boolean;
  readonly failed: boolean;
}

/** What is gathered while parts are read. */
export interface Count {
  bytes: number;
  media: number;
  readonly images: string[];
  readonly calls: { id: string; name: string; arguments: unknown }[];
}

/** The tokens of what was counted. */
export function tokensOf(count: Count): number {
  return tokensOfBytes(count.bytes) + count.media * MEDIA_TOKENS;
}

/** Reads a part; every fault is a 400. */
export function readPart(value: unknown, at: string, count: Count): InputPart {
  const part = membersOf(value, PART, at);
  const given = DATA.filter((name) => part[name] !== undefined);
  const signature = stringAt(part.thoughtSignature, `${at}.thought_signature`);
  if (signature !== null && !BYPASSES.includes(signature) && !isOwn(signature)) wrong("Corrupted thought signature.");
  if (given.length > 1) {
    wrong(`Invalid value at '${at}' (oneof), oneof field 'data' is already set. Cannot set '${given[1]}'`);
  }
  const [name] = given;
  if (name === undefined && signature === null) {
    wrong(`* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`);
  }
  const thought = part.thought === true;
  const read = name === undefined ? {} : (READERS[name]?.(part, at, count) ?? {});
  const base = { kind: "text" as HeardKind, text: "", name: null, id: null, failed: false, ...read };
  return { ...base, kind: thought ? "reasoning" : base.kind, thought, signed: signature !== null };
}

type Read = Partial<InputPart>;

const READERS: Readonly<Record<string, (part: JsonObject, at: string, count: Count) => Read>> = {
  text: (part, at, count) => {
    const text = stringAt(part.text, `${at}.text`) ?? "";
    count.bytes += Buffer.byteLength(text);
    return { text };
  },
  inlineData: (part, at, count) => {
    const place = `${at}.inline_data`;
    const blob = membersOf(part.inlineData, ["mimeType", "data", "displayName"], place);
    const data = stringAt(blob.data, `${place}.data`) ?? "";
    const type = checkType(blob.mimeType, place);
    if (data === "") wrong(`* GenerateContentRequest.${place}.data: must not be empty`);
    if (!BASE64.test(data)) {
      wrong(`Invalid value at '${place}.data' (TYPE_BYTES), Base64 decoding failed for "${data.slice(0, 40)}"`);
    }
    return media(type, type, count);
  },
  fileData: (part, at, count) => {
    const place = `${at}.file_data`;
    const file = membersOf(part.fileData, ["mimeType", "fileUri", "displayName"], place);
    const uri = stringAt(file.fileUri, `${place}.file_uri`) ?? "";
    if (!/^(https?|gs):\/\//.test(uri)) wrong(`Invalid or unsupported file uri: ${uri}`);
    return media(file.mimeType === undefined ? "image/*" : checkType(file.mimeType, place), uri, count);
  },
  functionCall: (part, at, count) => {
    const place = `${at}.function_call`;
    const call = membersOf(part.functionCall, ["id", "name", "args", "partialArgs", "willContinue"], place);
    const name = stringAt(call.name, `${place}.name`) ?? "";
    if (name === "") wrong(`* GenerateContentRequest.${place}.name: Name cannot be empty.`);
    count.bytes += Buffer.byteLength(name) + Buffer.byteLength(JSON.stringify(structAt(call.args, `${place}.args`)));
    const id = stringAt(call.id, `${place}.id`);
    count.calls.push({ id: id ?? name, name, arguments: call.args ?? {} });
    return { kind: "tool_call", name, id };
  },
  functionResponse: (part, at, count) => {
    const place = `${at}.function_response`;
    const known = ["id", "name", "response", "parts", "willContinue", "scheduling"];
    const answer = membersOf(part.functionResponse, known, place);
    const name = stringAt(answer.name, `${place}.name`) ?? "";
    if (name === "") wrong(`* GenerateContentRequest.${place}.name: Name cannot be empty.`);
    const response = structAt(answer.response, `${place}.response`);
    for (const [i, inner] of listAt(answer.parts, `${place}.parts`).entries()) {
      const piece = membersOf(inner, ["inlineData", "fileData"], `${place}.parts[${i}]`);
      READERS[piece.fileData === undefined ? "inlineData" : "fileData"]?.(piece, place, count);
    }
    const text = resultOf(response);
    count.bytes += Buffer.byteLength(name) + Buffer.byteLength(text);
    return { kind: "tool_result", text, name, id: stringAt(answer.id, `${place}.id`), failed: "error" in response };
  },
};

function media(type: string, name: string, count: Count): Read {
  count.media += 1;
  if (type.startsWith("image/")) count.images.push(name);
  return { kind: type.startsWith("image/") ? "image" : type.startsWith("audio/") ? "audio" : "file" };
}

function checkType(value: unknown, at: string): string {
  const type = stringAt(value, `${at}.mime_type`) ?? "";
  if (type === "") wrong(`* GenerateContentRequest.${at}.mime_type: must not be empty`);
  return MEDIA.test(type) ? type : wrong(`Unsupported MIME type: ${type}`);
}

function structAt(value: unknown, at: string): JsonObject {
  if (value === undefined) return {};
  return isObject(value) ? value : badValue(value, at, "type.googleapis.com/google.protobuf.Struct");
}

/** The text of a result where it is the one member that results are wrapped in, else its JSON. */
function resultOf(response: JsonObject): string {
  const [only, more] = Object.entries(response);
  const wrapped =
    only !== undefined && more === undefined && ["output", "result", "error", "content"].includes(only[0]);
  return wrapped && typeof only[1] === "string" ? only[1] : JSON.stringify(response);
}
