import { noUsage, type Usage } from "@sluicegate/contract";
import type { Call, ReplyFacts } from "../../core/call.ts";
import type { Bytes } from "../../core/pieces.ts";
import { editBody } from "../call-members.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { checkInteger, checkModel, isAbsent, isObject, missingField, wrongField } from "../field-checks.ts";
import type { Edit } from "../json-members.ts";
import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "../openai-answer.ts";
import { classifyFailure } from "../openai-error.ts";
import { plainBody, plainCall, roughTokens } from "../plain-call.ts";
import { PLATFORM_MEMBERS } from "../platform-fields.ts";
import {
  type ClientRequest,
  EVENT_STREAM,
  type FailedReply,
  invalidReply,
  type Protocol,
  type Quirks,
  replyObject,
  type Target,
  tokenCount,
} from "../protocol.ts";
import { strictEdits } from "../strict-body.ts";
import { INSISTS_ON_BASE64 } from "./base64.ts";
import { embeddingTranslation } from "./translation.ts";

const NOTHING = Buffer.alloc(0);

/** OpenAI Embeddings (WIRE A4): POST /v1/embeddings, passed through with the model spliced. Never a stream. */
export const openaiEmbeddings: Protocol = {
  name: "openai-embeddings",
  operation: "embeddings",
  api: "embeddings",
  clientPaths: ["/v1/embeddings", "/openai/v1/embeddings"],
  upstreamPath: () => "/embeddings",
  decodeRequest,
  encodeError: encodeOpenAiError,
  encodeStreamError: encodeOpenAiStreamError,
  streamShape: () => ({ contentType: EVENT_STREAM, keepalive: NOTHING }),
  terminator: NOTHING,
  endWithMetadata: () => NOTHING,
  decorateReply: decorateOpenAiReply,
  passRequest,
  dress: ({ body }) => (body["encoding_format"] === "base64" ? INSISTS_ON_BASE64 : null),
  readReply,
  streamReader: () => {
    throw new Error("embeddings do not stream");
  },
  classifyFailure,
  translation: embeddingTranslation,
};

function decodeRequest(request: ClientRequest): Call {
  const { raw, path } = request;
  const { body, members, modelAt, platform } = plainBody(request);
  const alias = path.alias ?? checkModel(body);
  checkInput(body["input"]);
  checkInteger(body, "dimensions");
  const format = body["encoding_format"];
  if (!isAbsent(format) && typeof format !== "string") throw wrongField("encoding_format", "float or base64");
  return plainCall(request, {
    ...{ dialect: "openai-embeddings", operation: "embeddings", alias },
    needs: new Set(["embeddings"]),
    inputTokensEstimate: roughTokens(raw.length),
    ...{ platform, body, members, modelAt },
  });
}

/** A text, texts, the tokens of a text, or the tokens of several. */
function checkInput(input: unknown): void {
  if (isAbsent(input)) throw missingField("input", "a string, an array of strings, or tokens");
  if (typeof input !== "string" && !Array.isArray(input)) throw wrongField("input", "a string or an array");
  if (input.length === 0) throw wrongField("input", "not empty");
  if (typeof input === "string") return;
  input.forEach((item: unknown, index) => {
    const tokens = Array.isArray(item) && item.every((token) => Number.isInteger(token));
    if (typeof item === "string" || Number.isInteger(item) || tokens) return;
    throw wrongField(`input[${index}]`, "a string, a token, or an array of tokens");
  });
}

function passRequest(call: Call, { model, quirks }: Target, dropped?: Set<string>): Bytes {
  const edits = new Map<string, Edit>();
  const additions: string[] = [];
  if (Object.hasOwn(call.body, "model")) edits.set("model", { value: JSON.stringify(model) });
  else additions.push(`"model":${JSON.stringify(model)}`);
  for (const key of PLATFORM_MEMBERS) if (Object.hasOwn(call.body, key)) edits.set(key, null);
  const strict = quirks.strict?.["openai-embeddings"];
  if (strict) strictEdits(call, strict, edits, dropped ?? new Set());
  return editBody(call, edits, additions);
}

function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const usage = readUsage(reply["usage"]);
  if (holdsError(reply["error"])) {
    return { failure: classifyFailure(statusNamed(reply) ?? 502, {}, body, nowMs), usage };
  }
  if (!Array.isArray(reply["data"])) return { ...invalidReply("the answer holds no data"), usage };
  return {
    model: typeof reply["model"] === "string" ? reply["model"] : null,
    usage,
    finishReason: "stop",
    outputChars: 0,
  };
}

/** Some report the total alone (Voyage): all of it is input. */
function readUsage(report: unknown): Usage | null {
  if (!isObject(report)) return null;
  const tokens = tokenCount(report["prompt_tokens"]) ?? tokenCount(report["total_tokens"]);
  return tokens === undefined ? null : { ...noUsage(), input_tokens: tokens };
}
