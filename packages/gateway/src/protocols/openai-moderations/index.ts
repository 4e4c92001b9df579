import type { Call, ReplyFacts } from "../../core/call.ts";
import { checkModel, isAbsent, isObject, missingField, wrongField } from "../field-checks.ts";
import { errorReply, mediaUsage, OPENAI_MEDIA } from "../openai-media.ts";
import { passJson } from "../pass-json.ts";
import { plainBody, plainCall, roughTokens } from "../plain-call.ts";
import {
  type ClientRequest,
  type FailedReply,
  invalidReply,
  type Protocol,
  type Quirks,
  replyObject,
} from "../protocol.ts";

/** What OpenAI takes where the client names no model; SDK examples leave it out. */
const DEFAULT_ALIAS = "omni-moderation-latest";

/** OpenAI Moderations (WIRE A4): POST /v1/moderations, passed through with the model spliced. Never a stream. */
export const openaiModerations: Protocol = {
  ...OPENAI_MEDIA,
  name: "openai-moderations",
  operation: "moderations",
  api: "moderations",
  clientPaths: ["/v1/moderations", "/openai/v1/moderations"],
  upstreamPath: () => "/moderations",
  decodeRequest,
  passRequest: passJson,
  readReply,
  streamReader: () => {
    throw new Error("moderations do not stream");
  },
};

function decodeRequest(request: ClientRequest): Call {
  const { body, members, modelAt, platform } = plainBody(request);
  const alias = request.path.alias ?? (isAbsent(body["model"]) ? DEFAULT_ALIAS : checkModel(body));
  const inputTokensEstimate = roughTokens(checkInput(body["input"]));
  const { name: dialect, operation } = openaiModerations;
  return plainCall(request, { dialect, operation, alias, platform, body, members, modelAt, inputTokensEstimate });
}

/** A text, texts, or parts with a text or a picture each. Returns the characters of text. */
function checkInput(input: unknown): number {
  if (isAbsent(input)) throw missingField("input", "a string, an array of strings, or an array of parts");
  if (typeof input === "string") return input.length;
  if (!Array.isArray(input) || input.length === 0) throw wrongField("input", "a string or a non-empty array");
  let chars = 0;
  input.forEach((item: unknown, index) => {
    const text = isObject(item) ? item["text"] : item;
    if (typeof text === "string") chars += text.length;
    else if (!isObject(item) || typeof item["type"] !== "string")
      throw wrongField(`input[${index}]`, "a string or a part");
  });
  return chars;
}

function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const failed = errorReply(reply, body, nowMs);
  if (failed) return failed;
  const usage = mediaUsage(reply["usage"]);
  if (!Array.isArray(reply["results"])) return { ...invalidReply("the answer holds no results"), usage };
  const model = typeof reply["model"] === "string" ? reply["model"] : null;
  return { model, usage, finishReason: "stop", outputChars: 0 };
}
