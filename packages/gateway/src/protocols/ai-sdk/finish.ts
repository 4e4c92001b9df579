import type { FinishReason } from "../../core/stream-part.ts";
import { isObject } from "../field-checks.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
  error: "error",
};

/** The canonical reason for the SDK's word, or for the object AI SDK 6 has in its place. An unknown word is a plain stop. */
export function finishReasonOf(said: unknown, called: boolean): FinishReason | null {
  const word = isObject(said) ? said["unified"] : said;
  if (typeof word !== "string" || word === "") return null;
  const reason = Object.hasOwn(REASONS, word) ? (REASONS[word] ?? "stop") : "stop";
  return reason === "stop" && called ? "tool_calls" : reason;
}

/** The stop sequence that was hit, where a package says so. */
export function stopSequenceOf(metadata: unknown): string | null {
  for (const own of isObject(metadata) ? Object.values(metadata) : []) {
    if (isObject(own) && typeof own["stopSequence"] === "string") return own["stopSequence"];
  }
  return null;
}
