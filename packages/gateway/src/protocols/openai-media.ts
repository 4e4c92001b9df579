import { noUsage, type Usage } from "@sluicegate/contract";
import type { StreamPart } from "../core/stream-part.ts";
import { holdsError, statusNamed } from "./error-facts.ts";
import { type Fields, isObject } from "./field-checks.ts";
import { decorateOpenAiReply, encodeOpenAiError, encodeOpenAiStreamError } from "./openai-answer.ts";
import { classifyFailure } from "./openai-error.ts";
import { EVENT_STREAM, type FailedReply, objectIn, type Protocol, type StreamReader, tokenCount } from "./protocol.ts";

const NOTHING = Buffer.alloc(0);

/** What OpenAI's endpoints beside chat have in common: errors, how a stream is framed, no translation. */
export const OPENAI_MEDIA = {
  encodeError: encodeOpenAiError,
  encodeStreamError: encodeOpenAiStreamError,
  streamShape: () => ({ contentType: EVENT_STREAM, keepalive: Buffer.from(": keep-alive\n\n") }),
  // Their streams end with an event of their own; some servers put chat's end mark behind it.
  terminator: NOTHING,
  // There is no event that a client would take metadata from: the headers say it.
  endWithMetadata: (held: Buffer | null) => held ?? NOTHING,
  decorateReply: (body, metadata) => (objectIn(body) ? decorateOpenAiReply(body, metadata) : null),
  classifyFailure,
  translation: null,
} satisfies Partial<Protocol>;

/**
 * The tokens of a media call: `input_tokens` and `output_tokens`, or chat's names for them (Mistral). Null where none are
 * reported: a duration is no count of tokens.
 */
export function mediaUsage(report: unknown): Usage | null {
  if (!isObject(report)) return null;
  const input = tokenCount(report["input_tokens"]) ?? tokenCount(report["prompt_tokens"]);
  const output = tokenCount(report["output_tokens"]) ?? tokenCount(report["completion_tokens"]);
  if (input === undefined && output === undefined) return null;
  const details = report["input_tokens_details"] ?? report["input_token_details"];
  const cached = isObject(details) ? tokenCount(details["cached_tokens"]) : undefined;
  return { ...noUsage(), input_tokens: input ?? 0, output_tokens: output ?? 0, cached_input_tokens: cached ?? 0 };
}

/** An error that came as a 200, with what it used. Null: it is none. */
export function errorReply(reply: Fields, body: Buffer, nowMs: number): FailedReply | null {
  if (!holdsError(reply["error"])) return null;
  const failure = classifyFailure(statusNamed(reply) ?? 502, {}, body, nowMs);
  return { failure, usage: mediaUsage(reply["usage"]) };
}

/** What an event of a media stream is: a piece of the answer, the end of one, or neither. */
export type MediaEvent = { output: StreamPart } | { done: Usage | null } | null;

/** Reads a stream whose events have a `type`; `meaning` says what one is. Usage of several ends adds up. */
export function mediaReader(meaning: (type: string, event: Fields) => MediaEvent): StreamReader {
  const sum = noUsage();
  return {
    read(data) {
      if (data.trim() === "[DONE]") return { parts: [], usageOnly: false, terminator: true };
      const event: unknown = JSON.parse(data);
      if (!isObject(event)) throw new Error("an event is no JSON object");
      return { parts: partsOf(event, meaning, sum), usageOnly: false, terminator: false };
    },
  };
}

function partsOf(event: Fields, meaning: (type: string, event: Fields) => MediaEvent, sum: Usage): StreamPart[] {
  const type = typeof event["type"] === "string" ? event["type"] : "";
  if (type === "error" || holdsError(event["error"])) {
    return [{ type: "error", failure: { status: statusNamed(event), body: event } }];
  }
  const meant = meaning(type, event);
  if (!meant) return [];
  if ("output" in meant) return [meant.output];
  const { done } = meant;
  const finish: StreamPart = { type: "finish", choice: 0, reason: "stop" };
  if (!done) return [finish];
  for (const field in sum) sum[field as keyof Usage] += done[field as keyof Usage];
  return [{ type: "usage", usage: { ...sum } }, finish];
}

/** A piece of a picture or a sound. */
export function mediaPart(mediaType: string, data: unknown): StreamPart {
  const annotation = { type: "media", mediaType, data: typeof data === "string" ? data : "" } as const;
  return { type: "annotation", choice: 0, annotation };
}
