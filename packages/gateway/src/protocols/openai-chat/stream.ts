import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { type Fields, isObject } from "../field-checks.ts";
import type { EventReading, Quirks, StreamReader } from "../protocol.ts";
import { failedFinishStatus, finishReasonOf } from "./finish.ts";
import { ToolCalls } from "./tool-calls.ts";
import { readUsage } from "./usage.ts";

const NOTHING: EventReading = { parts: [], usageOnly: false, terminator: false };
const DONE: EventReading = { parts: [], usageOnly: false, terminator: true };

/** What is known of one choice while it streams. */
interface ChoiceState {
  finished: boolean;
  calls: ToolCalls;
}

/** Reads the chunks of an OpenAI-family stream (WIRE A1.4, F5, F6). */
export function streamReader(quirks: Quirks): StreamReader {
  const choices = new Map<number, ChoiceState>();
  let started = false;
  return {
    read(data, eventName) {
      const text = data.trim();
      if (text === "[DONE]") return DONE;
      if (text === "") return NOTHING;
      const chunk = parse(text);
      const parts: StreamPart[] = [];
      const list = Array.isArray(chunk["choices"]) ? chunk["choices"].filter(isObject) : [];
      const usage = usageOf(chunk, list, quirks);
      const error = errorOf(chunk, eventName);
      if (error) {
        // What was used up to here counts, also where the error is all that follows.
        if (usage) parts.push({ type: "usage", usage });
        parts.push(error);
        return { parts, usageOnly: false, terminator: false };
      }
      if (!started && typeof chunk["model"] === "string" && chunk["model"] !== "") {
        started = true;
        parts.push({ type: "start", id: typeof chunk["id"] === "string" ? chunk["id"] : null, model: chunk["model"] });
      }
      for (const choice of list) readChoice(choice, choices, parts);
      if (usage) parts.push({ type: "usage", usage });
      return { parts, usageOnly: usage !== null && list.length === 0, terminator: false };
    },
  };
}

function parse(text: string): Fields {
  let chunk: unknown;
  try {
    chunk = JSON.parse(text);
  } catch {
    // Its own words would quote the answer into the log.
    throw new Error("a stream event is not JSON");
  }
  if (!isObject(chunk)) throw new Error("a stream event is no JSON object");
  return chunk;
}

/** In the chunk, in Groq's own member, or in the last choice (Moonshot). */
function usageOf(chunk: Fields, list: readonly Fields[], quirks: Quirks): ReturnType<typeof readUsage> {
  const groq = isObject(chunk["x_groq"]) ? chunk["x_groq"] : {};
  for (const from of [chunk, groq, ...list]) {
    const usage = readUsage(from["usage"], quirks);
    if (usage) return usage;
  }
  return null;
}

/** A top-level `error` (OpenRouter puts one beside `choices`), Groq's `x_groq.error`, TGI's bare string, `event: error`. */
function errorOf(chunk: Fields, eventName: string | null): StreamPart | null {
  if (holdsError(chunk["error"]) || eventName === "error" || chunk["object"] === "error") {
    return { type: "error", failure: { status: statusNamed(chunk), body: chunk } };
  }
  const groq = chunk["x_groq"];
  if (!isObject(groq) || !holdsError(groq["error"])) return null;
  const body = { error: groq["error"] };
  return { type: "error", failure: { status: statusNamed(body), body } };
}

function readChoice(choice: Fields, choices: Map<number, ChoiceState>, parts: StreamPart[]): void {
  const index = typeof choice["index"] === "number" ? choice["index"] : 0;
  let state = choices.get(index);
  if (!state) {
    if (choices.size === LIMITS.streamItemsMax) throw new Error(`a stream with over ${LIMITS.streamItemsMax} choices`);
    state = { finished: false, calls: new ToolCalls(index) };
    choices.set(index, state);
  }
  const delta = choice["delta"];
  if (isObject(delta)) readDelta(delta, index, state, parts);
  else pushText(choice["text"], "text", index, parts);
  // Some repeat the reason in a second chunk; the first one counts.
  if (state.finished) return;
  const failed = failedFinishStatus(choice["finish_reason"]);
  if (failed !== null || holdsError(choice["error"])) {
    const body = { error: choice["error"] ?? { message: `the answer ended with ${String(choice["finish_reason"])}` } };
    parts.push({ type: "error", failure: { status: statusNamed(body) ?? failed, body } });
    return;
  }
  const reason = finishReasonOf(choice["finish_reason"]);
  if (reason === null) return;
  state.finished = true;
  state.calls.end(parts);
  // Some say `stop` although they called tools.
  parts.push({ type: "finish", choice: index, reason: reason === "stop" && state.calls.any ? "tool_calls" : reason });
}

function readDelta(delta: Fields, choice: number, state: ChoiceState, parts: StreamPart[]): void {
  // One of the two names; who sends both sends the same, or leaves one empty.
  pushText(delta["reasoning_content"] || delta["reasoning"], "reasoning", choice, parts);
  const content = delta["content"];
  if (Array.isArray(content)) for (const piece of content) readContentPiece(piece, choice, parts);
  else pushText(content, "text", choice, parts);
  pushText(delta["refusal"], "refusal", choice, parts);
  if (isObject(delta["audio"])) parts.push({ type: "annotation", choice, annotation: { audio: delta["audio"] } });
  // Output that is neither text nor a call: encrypted thoughts, pictures (OpenRouter).
  for (const key of ["reasoning_details", "images"]) {
    const list = delta[key];
    if (Array.isArray(list) && list.length > 0) parts.push({ type: "annotation", choice, annotation: { [key]: list } });
  }
  if (Array.isArray(delta["annotations"])) {
    for (const annotation of delta["annotations"]) parts.push({ type: "annotation", choice, annotation });
  }
  // A call that comes after its choice has ended could not end any more.
  if (state.finished) return;
  if (Array.isArray(delta["tool_calls"])) state.calls.read(delta["tool_calls"], parts);
  const older = delta["function_call"];
  // Some send it empty where there is none (Snowflake).
  if (isObject(older) && (older["name"] || older["arguments"]))
    state.calls.read([{ index: 0, function: older }], parts);
}

/** Mistral's content pieces: `thinking` holds a list of text pieces of its own. */
function readContentPiece(piece: unknown, choice: number, parts: StreamPart[]): void {
  if (!isObject(piece)) return;
  if (piece["type"] === "thinking" && Array.isArray(piece["thinking"])) {
    for (const thought of piece["thinking"])
      if (isObject(thought)) pushText(thought["text"], "reasoning", choice, parts);
  } else if (typeof piece["text"] === "string") {
    pushText(piece["text"], "text", choice, parts);
  } else {
    parts.push({ type: "annotation", choice, annotation: piece });
  }
}

function pushText(value: unknown, type: "text" | "reasoning" | "refusal", choice: number, parts: StreamPart[]): void {
  if (typeof value === "string" && value !== "") parts.push({ type, choice, text: value });
}
