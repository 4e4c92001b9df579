import { noUsage } from "@sluicegate/contract";
import type { Call } from "../../core/call.ts";
import { LIMITS } from "../../core/limits.ts";
import { checkModel, isAbsent, isObject, missingField, wrongField } from "../field-checks.ts";
import { parseJsonObject } from "../json-body.ts";
import { type Edit, editMembers, membersOf } from "../json-members.ts";
import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "../openai-answer.ts";
import { classifyFailure } from "../openai-error.ts";
import { PLATFORM_MEMBERS, platformFields } from "../platform-fields.ts";
import { invalidReply, type Protocol } from "../protocol.ts";

/** OpenAI Embeddings (WIRE A4): POST /v1/embeddings, passed through with the model spliced. Never a stream. */
export const openaiEmbeddings: Protocol = {
  name: "openai-embeddings",
  operation: "embeddings",
  clientPath: "/v1/embeddings",
  upstreamPath: "/embeddings",
  decodeRequest,
  encodeError: encodeOpenAiError,
  encodeStreamError: encodeOpenAiStreamError,
  keepalive: Buffer.alloc(0),
  terminator: Buffer.alloc(0),
  encodeStreamMetadata: () => Buffer.alloc(0),
  decorateReply: decorateOpenAiReply,
  passRequest,
  readReply,
  streamReader: () => {
    throw new Error("embeddings do not stream");
  },
  classifyFailure,
};

function decodeRequest(raw: Buffer, header: (name: string) => string | undefined): Call {
  const body = parseJsonObject(raw, header("content-type"));
  const members = membersOf(raw);
  const alias = checkModel(body);
  const input = body["input"];
  if (isAbsent(input)) throw missingField("input", "a string, an array of strings, or tokens");
  if (typeof input !== "string" && !Array.isArray(input)) throw wrongField("input", "a string or an array");
  if (input.length === 0) throw wrongField("input", "not empty");
  const platform = platformFields(body, header);
  if (platform.user === undefined && typeof body["user"] === "string" && body["user"] !== "") {
    platform.user = body["user"].slice(0, LIMITS.labelCharsMax);
  }
  return {
    dialect: "openai-embeddings",
    operation: "embeddings",
    alias,
    stream: false,
    needs: new Set(["embeddings"]),
    maxOutputTokens: null,
    choices: 1,
    inputTokensEstimate: Math.max(1, Math.ceil(raw.length / 4)),
    holdsToolResults: false,
    reasons: false,
    showsUsage: true,
    platform,
    raw,
    body,
    members,
  };
}

function passRequest(call: Call, model: string): Buffer {
  const edits = new Map<string, Edit>([["model", { value: JSON.stringify(model) }]]);
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  return editMembers(call.raw, call.members, edits, []);
}

function readReply(body: Buffer): ReturnType<Protocol["readReply"]> {
  let reply: unknown;
  try {
    reply = JSON.parse(body.toString("utf8"));
  } catch {
    return { failure: invalidReply(200, "the answer is not JSON") };
  }
  if (!isObject(reply)) return { failure: invalidReply(200, "the answer is no JSON object") };
  if (!isAbsent(reply["error"])) return { failure: classifyFailure(502, {}, body) };
  if (!Array.isArray(reply["data"])) return { failure: invalidReply(200, "the answer holds no data") };
  const report = reply["usage"];
  const usage = noUsage();
  const tokens = isObject(report) ? (report["prompt_tokens"] ?? report["total_tokens"]) : undefined;
  if (typeof tokens === "number" && tokens >= 0) usage.input_tokens = Math.round(tokens);
  return {
    model: typeof reply["model"] === "string" ? reply["model"] : null,
    usage: typeof tokens === "number" ? usage : null,
    finishReason: "stop",
    outputChars: 0,
  };
}
