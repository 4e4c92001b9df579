import { isUtf8 } from "node:buffer";
import type { ReplyFacts } from "../../core/call.ts";
import { errorReply, mediaUsage } from "../openai-media.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject } from "../protocol.ts";

const OPEN_BRACE = 123;

/**
 * What a transcript says of itself. JSON (`json`, `verbose_json`, `diarized_json`) has `text`, and usage by tokens or by
 * duration; the other formats are text that only its readers understand, and may be empty: a recording of silence.
 */
export function readReply(body: Buffer, _quirks: Quirks, nowMs: number, contentType: string): ReplyFacts | FailedReply {
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType);
  if (isJson || body[0] === OPEN_BRACE) {
    const reply = replyObject(body);
    const failed = reply && errorReply(reply, body, nowMs);
    if (failed) return failed;
    if (isJson) return reply ? readTranscript(reply) : readString(body);
  }
  if (/^text\/html\b/i.test(contentType)) return invalidReply("the answer is a web page");
  if (!isUtf8(body)) return invalidReply("the answer is no text");
  return { model: null, usage: null, finishReason: "stop", outputChars: body.length };
}

function readTranscript(reply: Record<string, unknown>): ReplyFacts | FailedReply {
  const usage = mediaUsage(reply["usage"]);
  const { text, model } = reply;
  if (typeof text !== "string") return { ...invalidReply("the answer holds no text"), usage };
  return { model: typeof model === "string" ? model : null, usage, finishReason: "stop", outputChars: text.length };
}

/** Some servers send the `text` format as a JSON string. */
function readString(body: Buffer): ReplyFacts | FailedReply {
  let text: unknown;
  try {
    text = JSON.parse(body.toString("utf8"));
  } catch {
    return invalidReply("the answer is no JSON");
  }
  if (typeof text !== "string") return invalidReply("the answer holds no text");
  return { model: null, usage: null, finishReason: "stop", outputChars: text.length };
}
