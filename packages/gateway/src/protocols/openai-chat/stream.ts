import type { StreamPart } from "../../core/stream-part.ts";
import { type Fields, isAbsent, isObject } from "../field-checks.ts";
import type { EventReading, Quirks, StreamReader } from "../protocol.ts";
import { finishReasonOf } from "./finish.ts";
import { readUsage } from "./usage.ts";

const NOTHING: EventReading = { parts: [], usageOnly: false, terminator: false };
const DONE: EventReading = { parts: [], usageOnly: false, terminator: true };

/** What is known of one choice while it streams. Grows with the number of tool calls, never with the text. */
interface ChoiceState {
  finished: boolean;
  /** Per wire index: our own index, and the id the call has. */
  calls: Map<number, { index: number; id: string; named: boolean; held: string }>;
  next: number;
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
      const chunk: unknown = JSON.parse(text);
      if (!isObject(chunk)) throw new Error("a stream event is no JSON object");
      const failure = errorOf(chunk, eventName);
      if (failure !== null) {
        return {
          parts: [{ type: "error", failure: { status: statusOf(chunk, failure), body: chunk } }],
          usageOnly: false,
          terminator: false,
        };
      }
      const parts: StreamPart[] = [];
      if (!started && typeof chunk["model"] === "string" && chunk["model"] !== "") {
        started = true;
        parts.push({ type: "start", id: typeof chunk["id"] === "string" ? chunk["id"] : null, model: chunk["model"] });
      }
      const list = Array.isArray(chunk["choices"]) ? chunk["choices"] : [];
      for (const choice of list) if (isObject(choice)) readChoice(choice, choices, parts);
      const groq = chunk["x_groq"];
      const usage = readUsage(chunk["usage"], quirks) ?? (isObject(groq) ? readUsage(groq["usage"], quirks) : null);
      if (usage) parts.push({ type: "usage", usage });
      return { parts, usageOnly: usage !== null && list.length === 0, terminator: false };
    },
  };
}

/** A top-level `error` (OpenRouter puts one beside `choices`), Groq's `x_groq.error`, TGI's bare string, `event: error`. */
function errorOf(chunk: Fields, eventName: string | null): unknown {
  if (!isAbsent(chunk["error"])) return chunk["error"];
  const groq = chunk["x_groq"];
  if (isObject(groq) && !isAbsent(groq["error"])) return groq["error"];
  return eventName === "error" || chunk["object"] === "error" ? chunk : null;
}

function statusOf(chunk: Fields, failure: unknown): number | null {
  const inner = isObject(failure) ? failure : {};
  for (const value of [chunk["status_code"], inner["status_code"], inner["status"], inner["code"], chunk["code"]]) {
    const status = typeof value === "string" ? Number(value) : value;
    if (typeof status === "number" && status >= 400 && status < 600) return status;
  }
  return null;
}

function readChoice(choice: Fields, choices: Map<number, ChoiceState>, parts: StreamPart[]): void {
  const index = typeof choice["index"] === "number" ? choice["index"] : 0;
  let state = choices.get(index);
  if (!state) {
    state = { finished: false, calls: new Map(), next: 0 };
    choices.set(index, state);
  }
  const delta = choice["delta"];
  if (isObject(delta)) readDelta(delta, index, state, parts);
  else if (typeof choice["text"] === "string" && choice["text"] !== "") {
    parts.push({ type: "text", choice: index, text: choice["text"] });
  }
  const reason = finishReasonOf(choice["finish_reason"]);
  // Some repeat the reason in a second chunk; the first one counts.
  if (reason === null || state.finished) return;
  state.finished = true;
  for (const call of state.calls.values()) parts.push({ type: "tool_end", choice: index, index: call.index });
  // Some say `stop` although they called tools.
  parts.push({
    type: "finish",
    choice: index,
    reason: reason === "stop" && state.calls.size > 0 ? "tool_calls" : reason,
  });
}

function readDelta(delta: Fields, choice: number, state: ChoiceState, parts: StreamPart[]): void {
  const reasoning = delta["reasoning_content"] ?? delta["reasoning"];
  if (typeof reasoning === "string" && reasoning !== "") parts.push({ type: "reasoning", choice, text: reasoning });
  const content = delta["content"];
  if (typeof content === "string") {
    if (content !== "") parts.push({ type: "text", choice, text: content });
  } else if (Array.isArray(content)) {
    for (const piece of content) if (isObject(piece)) readContentPiece(piece, choice, parts);
  }
  const refusal = delta["refusal"];
  if (typeof refusal === "string" && refusal !== "") parts.push({ type: "refusal", choice, text: refusal });
  const audio = delta["audio"];
  if (isObject(audio)) parts.push({ type: "annotation", choice, annotation: { audio } });
  if (Array.isArray(delta["annotations"])) {
    for (const annotation of delta["annotations"]) parts.push({ type: "annotation", choice, annotation });
  }
  if (Array.isArray(delta["tool_calls"])) {
    delta["tool_calls"].forEach((call: unknown, position) => {
      if (isObject(call)) readToolCall(call, position, choice, state, parts);
    });
  }
  if (isObject(delta["function_call"])) readToolCall({ function: delta["function_call"] }, 0, choice, state, parts);
}

/** Mistral's content pieces: `thinking` holds a list of text pieces of its own. */
function readContentPiece(piece: Fields, choice: number, parts: StreamPart[]): void {
  if (piece["type"] === "thinking" && Array.isArray(piece["thinking"])) {
    for (const thought of piece["thinking"]) {
      if (isObject(thought) && typeof thought["text"] === "string")
        parts.push({ type: "reasoning", choice, text: thought["text"] });
    }
  } else if (typeof piece["text"] === "string" && piece["text"] !== "") {
    parts.push({ type: "text", choice, text: piece["text"] });
  }
}

/**
 * Later fragments of a call carry only its index; some upstreams leave the index out, or use 0 again under a new id:
 * a new id is a new call. A name may come after the first arguments, and an empty name never replaces one.
 */
function readToolCall(call: Fields, position: number, choice: number, state: ChoiceState, parts: StreamPart[]): void {
  const wire = typeof call["index"] === "number" ? call["index"] : position;
  const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : null;
  const body = isObject(call["function"]) ? call["function"] : isObject(call["custom"]) ? call["custom"] : {};
  const name = typeof body["name"] === "string" && body["name"] !== "" ? body["name"] : null;
  const given = body["arguments"] ?? body["input"];
  const text = typeof given === "string" ? given : isAbsent(given) ? "" : JSON.stringify(given);
  let known = state.calls.get(wire);
  if (!known || (id !== null && known.id !== "" && id !== known.id)) {
    if (known) {
      parts.push({ type: "tool_end", choice, index: known.index });
    }
    known = { index: state.next++, id: id ?? "", named: false, held: "" };
    state.calls.set(wire, known);
  }
  if (known.id === "" && id !== null) known.id = id;
  if (!known.named && name !== null) {
    known.named = true;
    parts.push({ type: "tool_start", choice, index: known.index, id: known.id, name });
    if (known.held !== "") parts.push({ type: "tool_arguments", choice, index: known.index, text: known.held });
    known.held = "";
  }
  if (text === "") return;
  if (known.named) parts.push({ type: "tool_arguments", choice, index: known.index, text });
  else known.held += text;
}
