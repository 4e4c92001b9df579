import type { Fields } from "../field-checks.ts";
import { type MediaEvent, mediaReader, mediaUsage, OPENAI_MEDIA } from "../openai-media.ts";
import type { Protocol } from "../protocol.ts";
import { readReply } from "./reply.ts";
import { decodeRequest, passRequest } from "./request.ts";

/**
 * OpenAI Transcriptions (WIRE A4): POST /v1/audio/transcriptions, a multipart form in; JSON, plain text, subtitles or events
 * out. Passed through with the model spliced into the form.
 */
export const openaiTranscription: Protocol = {
  ...OPENAI_MEDIA,
  name: "openai-transcription",
  operation: "transcription",
  api: "transcription",
  clientPaths: ["/v1/audio/transcriptions", "/openai/v1/audio/transcriptions"],
  upstreamPath: () => "/audio/transcriptions",
  // The boundary is the client's.
  contentType: (call) => call.dialectHeaders["content-type"] ?? "multipart/form-data",
  decodeRequest,
  passRequest,
  readReply,
  streamReader: () => mediaReader(meaning),
  // whisper-1 ignores `stream` and answers whole, as OpenAI documents it.
  mayAnswerWhole: true,
};

/** `transcript.text.delta`, `.segment` (who spoke when) and `.done`, the last with the whole text and usage. */
function meaning(type: string, event: Fields): MediaEvent {
  if (type === "transcript.text.done") return { done: mediaUsage(event["usage"]) };
  if (type !== "transcript.text.delta" && type !== "transcript.text.segment") return null;
  // A segment repeats what the deltas said.
  const text = type === "transcript.text.delta" && typeof event["delta"] === "string" ? event["delta"] : "";
  return { output: { type: "text", choice: 0, text } };
}
