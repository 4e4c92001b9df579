import type { Call, ReplyFacts } from "../../core/call.ts";
import {
  checkBoolean,
  checkInteger,
  checkModel,
  type Fields,
  isAbsent,
  missingField,
  wrongField,
} from "../field-checks.ts";
import { errorReply, type MediaEvent, mediaPart, mediaReader, mediaUsage, OPENAI_MEDIA } from "../openai-media.ts";
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

/** OpenAI Images (WIRE A4): POST /v1/images/generations, JSON and a stream of partial images, passed through. */
export const openaiImages: Protocol = {
  ...OPENAI_MEDIA,
  name: "openai-images",
  operation: "images",
  api: "images",
  clientPaths: ["/v1/images/generations", "/openai/v1/images/generations"],
  upstreamPath: () => "/images/generations",
  decodeRequest,
  passRequest: passJson,
  readReply,
  streamReader: () => mediaReader(meaning),
};

function decodeRequest(request: ClientRequest): Call {
  const { body, members, modelAt, platform } = plainBody(request);
  const alias = request.path.alias ?? checkModel(body);
  const { prompt } = body;
  if (isAbsent(prompt)) throw missingField("prompt", "what is to be seen, as a string");
  if (typeof prompt !== "string" || prompt === "") throw wrongField("prompt", "a non-empty string");
  const n = checkInteger(body, "n") ?? 1;
  checkInteger(body, "partial_images");
  const stream = checkBoolean(body, "stream");
  const { name: dialect, operation } = openaiImages;
  return plainCall(request, {
    ...{ dialect, operation, alias, platform, body, members, modelAt, stream },
    needs: new Set(["images"]),
    // Each picture of a stream ends with an event of its own.
    choices: Math.max(1, n),
    // A picture takes as long as a thought before anything of it is seen.
    reasons: true,
    inputTokensEstimate: roughTokens(prompt.length),
  });
}

function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const failed = errorReply(reply, body, nowMs);
  if (failed) return failed;
  const usage = mediaUsage(reply["usage"]);
  if (!Array.isArray(reply["data"])) return { ...invalidReply("the answer holds no data"), usage };
  const model = typeof reply["model"] === "string" ? reply["model"] : null;
  return { model, usage, finishReason: "stop", outputChars: 0 };
}

/** `image_generation.partial_image` and `image_generation.completed`; the latter holds the picture and the usage. */
function meaning(type: string, event: Fields): MediaEvent {
  if (type.endsWith(".partial_image")) return { output: mediaPart(mediaTypeOf(event), event["b64_json"]) };
  return type.endsWith(".completed") ? { done: mediaUsage(event["usage"]) } : null;
}

function mediaTypeOf(event: Fields): string {
  const format = event["output_format"];
  return `image/${typeof format === "string" ? format : "png"}`;
}
