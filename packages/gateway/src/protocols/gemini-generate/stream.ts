import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { keepTexts } from "../exact-json.ts";
import { type Fields, isObject } from "../field-checks.ts";
import type { EventReading, StreamReader } from "../protocol.ts";
import { readAnnotations } from "./annotations.ts";
import { blockReason } from "./error.ts";
import { pick, pickList, pickObject, pickString } from "./fields.ts";
import { failedFinish, finishReasonOf, finishWord } from "./finish.ts";
import { readLogprobs } from "./logprobs.ts";
import { ContentParts } from "./parts.ts";
import { readUsage } from "./usage.ts";

/** Where the arguments of calls stand. */
const ARGUMENTS = ["candidates", "*", "content", "parts", "*", "functionCall|function_call", "args"];
const NOTHING: EventReading = { parts: [], usageOnly: false, terminator: false };

/** What is known of one candidate while it streams. */
interface CandidateState {
  finished: boolean;
  content: ContentParts;
}

/**
 * Reads Gemini's answers, whole or event by event: each event is a whole response with what is new (WIRE B4, F3). The
 * stream has no end mark; it is complete when every candidate has its finish reason.
 */
export function streamReader(): StreamReader {
  const candidates = new Map<number, CandidateState>();
  let started = false;
  let id: string | null = null;
  return {
    read(data) {
      if (data.trim() === "") return NOTHING;
      const chunk = parse(data);
      const parts: StreamPart[] = [];
      id ??= pickString(chunk, "responseId") ?? null;
      const usage = readUsage(pick(chunk, "usageMetadata"));
      const error = errorOf(chunk);
      if (error) {
        if (usage) parts.push({ type: "usage", usage });
        return { parts: [...parts, error], usageOnly: false, terminator: false };
      }
      const model = pickString(chunk, "modelVersion");
      if (!started && model) {
        started = true;
        parts.push({ type: "start", id, model });
      }
      for (const candidate of pickList(chunk, "candidates"))
        if (isObject(candidate)) readCandidate(candidate, candidates, id, parts);
      // After the candidates: what is counted is in it.
      if (usage) parts.push({ type: "usage", usage });
      return { parts, usageOnly: false, terminator: false };
    },
  };
}

function parse(data: string): Fields {
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch {
    // Its own words would quote the answer into the log.
    throw new Error("a stream event is not JSON");
  }
  // Errors may come in an array of one.
  if (Array.isArray(chunk)) chunk = chunk[0];
  if (!isObject(chunk)) throw new Error("a stream event is no JSON object");
  keepTexts(chunk, () => Buffer.from(data), ARGUMENTS);
  return chunk;
}

/** An `error`, or a prompt that was blocked. */
function errorOf(chunk: Fields): StreamPart | null {
  if (holdsError(chunk["error"])) return { type: "error", failure: { status: statusNamed(chunk), body: chunk } };
  return blockReason(chunk) === null ? null : { type: "error", failure: { status: 400, body: chunk } };
}

function readCandidate(
  candidate: Fields,
  candidates: Map<number, CandidateState>,
  id: string | null,
  parts: StreamPart[],
): void {
  const given = candidate["index"];
  const index = typeof given === "number" ? given : 0;
  let state = candidates.get(index);
  if (!state) {
    if (candidates.size === LIMITS.streamItemsMax) throw new Error(`over ${LIMITS.streamItemsMax} candidates`);
    state = { finished: false, content: new ContentParts(index, id) };
    candidates.set(index, state);
  }
  if (state.finished) return;
  const word = finishWord(pick(candidate, "finishReason"));
  // A candidate that failed is said before what it wrote last: nothing of it is worth showing (a call nobody declared).
  if (word !== undefined && finishReasonOf(word, false) === "error") {
    const body = failedFinish(word, pick(candidate, "finishMessage"));
    parts.push({ type: "error", failure: { status: 502, body } });
    return;
  }
  const { content } = state;
  content.read(pickList(pickObject(candidate, "content") ?? {}, "parts"), readLogprobs(candidate), parts);
  for (const annotation of readAnnotations(candidate, content.ascii))
    parts.push({ type: "annotation", choice: index, annotation });
  if (word === undefined) return;
  state.finished = true;
  content.end(parts);
  parts.push({ type: "finish", choice: index, reason: finishReasonOf(word, content.called) });
}
