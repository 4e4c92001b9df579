import type { Call, ReplyFacts } from "../../core/call.ts";
import { checkModel, checkNumber, type Fields, isAbsent, missingField, wrongField } from "../field-checks.ts";
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

/** OpenAI Speech (WIRE A4): POST /v1/audio/speech, JSON in, sound out (or, with `stream_format: sse`, events), passed through. */
export const openaiSpeech: Protocol = {
  ...OPENAI_MEDIA,
  name: "openai-speech",
  operation: "speech",
  api: "speech",
  clientPaths: ["/v1/audio/speech", "/openai/v1/audio/speech"],
  upstreamPath: () => "/audio/speech",
  decodeRequest,
  passRequest: passJson,
  readReply,
  streamReader: () => mediaReader(meaning),
  // Whatever the bytes look like, they are sound.
  decorateReply: () => null,
};

function decodeRequest(request: ClientRequest): Call {
  const { body, members, modelAt, platform } = plainBody(request);
  const alias = request.path.alias ?? checkModel(body);
  const { input, stream_format: format } = body;
  if (isAbsent(input)) throw missingField("input", "what is to be said, as a string");
  if (typeof input !== "string" || input === "") throw wrongField("input", "a non-empty string");
  if (!isAbsent(format) && format !== "sse" && format !== "audio") throw wrongField("stream_format", "sse or audio");
  checkNumber(body, "speed");
  const { name: dialect, operation } = openaiSpeech;
  return plainCall(request, {
    ...{ dialect, operation, alias, platform, body, members, modelAt },
    stream: format === "sse",
    needs: new Set(["speech"]),
    inputTokensEstimate: roughTokens(input.length),
  });
}

/** Sound, whatever its container; JSON or a page in its place is no answer. */
function readReply(body: Buffer, _quirks: Quirks, nowMs: number, contentType: string): ReplyFacts | FailedReply {
  if (body.length === 0) return invalidReply("the answer is empty");
  if (/^(?:application\/(?:[\w.+-]+\+)?json|text\/)/i.test(contentType)) {
    const reply = replyObject(body);
    return (reply && errorReply(reply, body, nowMs)) ?? invalidReply("the answer is text, not sound");
  }
  return { model: null, usage: null, finishReason: "stop", outputChars: 0 };
}

/** `speech.audio.delta` and `speech.audio.done`, the latter with usage. */
function meaning(type: string, event: Fields): MediaEvent {
  if (type === "speech.audio.delta") return { output: mediaPart("audio", event["audio"]) };
  return type === "speech.audio.done" ? { done: mediaUsage(event["usage"]) } : null;
}
