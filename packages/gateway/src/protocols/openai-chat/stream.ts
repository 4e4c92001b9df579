import { LIMITS } from "../../core/limits.ts";
import type { Signature, StreamPart } from "../../core/stream-part.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { type Fields, isObject, wordOf } from "../field-checks.ts";
import { type EventReading, eventObject, type Quirks, type StreamReader } from "../protocol.ts";
import { opaque, readAnnotation, readMedia } from "./annotations.ts";
import { failedFinishStatus, finishReasonOf } from "./finish.ts";
import { googleSignature, readDetails, signatureOf } from "./reasoning.ts";
import { RepeatedChunk } from "./repeated-chunk.ts";
import { ToolCalls } from "./tool-calls.ts";
import { readUsage } from "./usage.ts";

const NOTHING: EventReading = { parts: [], usageOnly: false, terminator: false };
const DONE: EventReading = { parts: [], usageOnly: false, terminator: true };
const NO_CALLS: ReadonlySet<string> = new Set();
const NO_SIGNATURES: ReadonlyMap<string, Signature> = new Map();

/** What is known of one choice while it streams. */
interface ChoiceState {
  index: number;
  finished: boolean;
  calls: ToolCalls;
  /** Characters of the open thought that came as plain text alone: its signature may come with all of them again. */
  plainChars: number;
}

/** Reads the chunks of an OpenAI-family stream (WIRE A1.4, F5, F6). */
export function streamReader(quirks: Quirks): StreamReader {
  const choices = new Map<number, ChoiceState>();
  const repeated = new RepeatedChunk();
  let started = false;
  let id = "";
  let sources = 0;
  return {
    repeats: repeated,
    read(data, eventName) {
      repeated.forget();
      const text = data.trim();
      if (text === "[DONE]") return DONE;
      if (text === "") return NOTHING;
      const chunk = eventObject(text);
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
      if (id === "" && typeof chunk["id"] === "string") id = chunk["id"];
      for (const choice of list)
        readChoice(
          choice,
          stateOf(choice, choices, () => id),
          parts,
        );
      // Perplexity and xAI name their sources beside the choices, in every chunk again.
      if (Array.isArray(chunk["citations"])) sources = readSources(chunk["citations"], sources, choices, parts);
      if (usage) parts.push({ type: "usage", usage });
      const [first, second] = parts;
      if (first?.type === "text" && !first.logprobs && !second) repeated.propose(data, first.choice);
      return { parts, usageOnly: list.length === 0 && (usage !== null || isReport(chunk["usage"])), terminator: false };
    },
  };
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

/** Whether a chunk without choices is there for its usage, however that is counted. */
function isReport(usage: unknown): boolean {
  return isObject(usage) && Object.keys(usage).length > 0;
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

function stateOf(choice: Fields, choices: Map<number, ChoiceState>, answerId: () => string): ChoiceState {
  const index = typeof choice["index"] === "number" ? choice["index"] : 0;
  let state = choices.get(index);
  if (!state) {
    if (choices.size === LIMITS.streamItemsMax) throw new Error(`a stream with over ${LIMITS.streamItemsMax} choices`);
    state = { index, finished: false, calls: new ToolCalls(index, answerId), plainChars: 0 };
    choices.set(index, state);
  }
  return state;
}

/** Sources that have not been told yet; after a finish there is no place for any. Returns how many have been told. */
function readSources(
  sources: readonly unknown[],
  told: number,
  choices: ReadonlyMap<number, ChoiceState>,
  parts: StreamPart[],
): number {
  if (choices.get(0)?.finished !== false) return told;
  for (const source of sources.slice(told)) {
    if (typeof source !== "string") continue;
    parts.push({
      type: "annotation",
      choice: 0,
      annotation: { type: "url_citation", url: source, title: null, start: null, end: null },
    });
  }
  return Math.max(told, sources.length);
}

function readChoice(choice: Fields, state: ChoiceState, parts: StreamPart[]): void {
  const { index } = state;
  // Some repeat the reason in a second chunk; the first one counts, and nothing behind it.
  if (state.finished) return;
  const delta = choice["delta"];
  const logprobs = logprobsOf(choice["logprobs"]);
  if (isObject(delta)) readDelta(delta, state, logprobs, parts);
  else pushText(choice["text"], "text", index, parts);
  const failed = failedFinishStatus(choice["finish_reason"]);
  if (failed !== null || holdsError(choice["error"])) {
    const body = { error: choice["error"] ?? { message: `the answer ended with ${wordOf(choice["finish_reason"])}` } };
    parts.push({ type: "error", failure: { status: statusNamed(body) ?? failed, body } });
    return;
  }
  const reason = finishReasonOf(choice["finish_reason"]);
  if (reason === null) return;
  state.finished = true;
  state.calls.end(parts);
  // Some say `stop` although they called tools.
  const said = reason === "stop" && state.calls.any ? "tool_calls" : reason;
  const stopSequence = choice["stop_reason"];
  parts.push({
    type: "finish",
    choice: index,
    reason: said,
    // vLLM's word for the sequence that was hit.
    ...(said === "stop" && typeof stopSequence === "string" && stopSequence !== "" && { stopSequence }),
  });
}

/** The token entries of a chat choice; the older completions have another form, which nothing translates. */
function logprobsOf(given: unknown): unknown[] | null {
  if (!isObject(given)) return null;
  const entries = given["content"] ?? given["refusal"];
  return Array.isArray(entries) && entries.length > 0 ? entries : null;
}

function readDelta(delta: Fields, state: ChoiceState, logprobs: unknown[] | null, parts: StreamPart[]): void {
  const { index: choice } = state;
  const signed = readThoughts(delta, state, parts);
  const thoughts = parts.length;
  const content = delta["content"];
  const textAt = parts.length;
  if (Array.isArray(content)) for (const piece of content) readContentPiece(piece, choice, parts);
  else pushText(content, "text", choice, parts);
  const text = parts[textAt];
  if (logprobs) {
    if (text?.type === "text") text.logprobs = logprobs;
    // A token may be no character yet.
    else if (typeof content === "string") parts.push({ type: "text", choice, text: "", logprobs });
  }
  pushText(delta["refusal"], "refusal", choice, parts);
  // Output that is neither text nor a call: sounds, pictures (OpenRouter), citations.
  if (isObject(delta["audio"]) || Array.isArray(delta["images"])) {
    for (const annotation of readMedia(delta)) parts.push({ type: "annotation", choice, annotation });
  }
  if (Array.isArray(delta["annotations"])) {
    for (const each of delta["annotations"]) {
      parts.push({ type: "annotation", choice, annotation: readAnnotation(each) });
    }
  }
  if (Array.isArray(delta["tool_calls"])) state.calls.read(delta["tool_calls"], parts, signed);
  const older = delta["function_call"];
  // Some send it empty where there is none (Snowflake).
  if (isObject(older) && (older["name"] || older["arguments"]))
    state.calls.read([{ index: 0, function: older }], parts);
  if (parts.length > thoughts) state.plainChars = 0;
}

/**
 * The thoughts of a delta. The details repeat the plain text where both stand, and add signatures and what is encrypted; a
 * signature that hangs on a call beside it is returned for it.
 */
function readThoughts(delta: Fields, state: ChoiceState, parts: StreamPart[]): ReadonlyMap<string, Signature> {
  const { index: choice } = state;
  // One of the two names; who sends both sends the same, or leaves one empty.
  const plain = delta["reasoning_content"] || delta["reasoning"];
  const before = parts.length;
  pushText(plain, "reasoning", choice, parts);
  const said = parts.length > before;
  const list = delta["reasoning_details"];
  if (!Array.isArray(list) || list.length === 0) {
    if (typeof plain === "string") state.plainChars += plain.length;
    const signature = delta["extra_content"] === undefined ? undefined : googleSignature(delta);
    if (signature) parts.push({ type: "reasoning", choice, text: "", signature });
    return NO_SIGNATURES;
  }
  const calls = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"].filter(isObject) : [];
  const ids = calls.length === 0 ? NO_CALLS : new Set(calls.map((call) => wordOf(call["id"])));
  const details = readDetails(list, ids);
  for (const { text, signature, encrypted } of details.blocks) {
    if (said && !signature && !encrypted) continue;
    const marks = { ...(signature && { signature }), ...(encrypted && { encrypted }) };
    const last = parts.at(-1);
    // The plain text is the text of what is signed here.
    if (said && last?.type === "reasoning" && parts.length === before + 1 && !last.signature && !last.encrypted) {
      Object.assign(last, marks);
    } else {
      const repeats = said || (text.length === state.plainChars && (signature ?? encrypted) !== undefined);
      parts.push({ type: "reasoning", choice, text: repeats ? "" : text, ...marks });
    }
    if (signature ?? encrypted) state.plainChars = 0;
  }
  return details.calls;
}

/** Mistral's content pieces: `thinking` holds a list of text pieces of its own. */
function readContentPiece(piece: unknown, choice: number, parts: StreamPart[]): void {
  if (!isObject(piece)) return;
  if (piece["type"] === "thinking" && Array.isArray(piece["thinking"])) {
    for (const thought of piece["thinking"])
      if (isObject(thought)) pushText(thought["text"], "reasoning", choice, parts);
    const signature = signatureOf(piece["signature"], null, "text");
    if (signature) parts.push({ type: "reasoning", choice, text: "", signature });
  } else if (typeof piece["text"] === "string") {
    pushText(piece["text"], "text", choice, parts);
  } else {
    parts.push({ type: "annotation", choice, annotation: opaque({ content: [piece] }) });
  }
}

function pushText(value: unknown, type: "text" | "reasoning" | "refusal", choice: number, parts: StreamPart[]): void {
  if (typeof value === "string" && value !== "") parts.push({ type, choice, text: value });
}
