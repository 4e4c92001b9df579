import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type EventReading, eventObject, type StreamReader } from "../protocol.ts";
import { readAnnotation } from "./annotations.ts";
import { failedStatus, finishOf } from "./reply.ts";
import { StreamItem } from "./stream-item.ts";
import { readUsage } from "./usage.ts";

const NOTHING: EventReading = { parts: [], usageOnly: false, terminator: false };
/** Events that say a piece of an item, and what they say. `done` repeats the whole: what has not come before is still missing. */
const PIECES: Readonly<
  Record<string, { of: "text" | "refusal" | "reasoning" | "call"; field: string; whole: boolean }>
> = {
  "response.output_text.delta": { of: "text", field: "delta", whole: false },
  "response.output_text.done": { of: "text", field: "text", whole: true },
  "response.refusal.delta": { of: "refusal", field: "delta", whole: false },
  "response.refusal.done": { of: "refusal", field: "refusal", whole: true },
  "response.reasoning_summary_text.delta": { of: "reasoning", field: "delta", whole: false },
  "response.reasoning_summary_text.done": { of: "reasoning", field: "text", whole: true },
  "response.reasoning_text.delta": { of: "reasoning", field: "delta", whole: false },
  "response.reasoning_text.done": { of: "reasoning", field: "text", whole: true },
  "response.function_call_arguments.delta": { of: "call", field: "delta", whole: false },
  "response.function_call_arguments.done": { of: "call", field: "arguments", whole: true },
  "response.custom_tool_call_input.delta": { of: "call", field: "delta", whole: false },
  "response.custom_tool_call_input.done": { of: "call", field: "input", whole: true },
};

/**
 * Reads the events of a Responses stream (WIRE A2.3). Items are known by `output_index`, since ids may change from event to
 * event (GitHub Copilot); the type is read from the JSON, since some send no `event:` line.
 */
export function streamReader(): StreamReader {
  const items = new Map<number, StreamItem>();
  const state: ReadState = { items, calls: 0, started: false };
  return {
    read(data) {
      const text = data.trim();
      if (text === "") return NOTHING;
      if (text === "[DONE]") return { ...NOTHING, terminator: true };
      const event = eventObject(text);
      const parts: StreamPart[] = [];
      const terminator = readEvent(event, state, parts);
      return { parts, usageOnly: false, terminator };
    },
  };
}

interface ReadState {
  items: Map<number, StreamItem>;
  calls: number;
  started: boolean;
}

/** True for the event that ends the stream. */
function readEvent(event: Fields, state: ReadState, parts: StreamPart[]): boolean {
  const type = typeof event["type"] === "string" ? event["type"] : "";
  const piece = Object.hasOwn(PIECES, type) ? PIECES[type] : undefined;
  if (piece) {
    itemAt(event, state)?.piece(piece.of, event, piece.field, piece.whole, parts);
    return false;
  }
  switch (type) {
    case "response.created":
    case "response.queued":
    case "response.in_progress":
      readStart(event["response"], state, parts);
      return false;
    case "response.output_item.added":
    case "response.output_item.done": {
      if (isObject(event["item"])) readItem(event, event["item"], type.endsWith("done"), state, parts);
      return false;
    }
    case "response.output_text.annotation.added":
      itemAt(event, state)?.sawAnnotation();
      parts.push({ type: "annotation", choice: 0, annotation: readAnnotation(event["annotation"]) });
      return false;
    case "response.completed":
    case "response.incomplete":
      readEnd(event["response"], type, state, parts);
      return true;
    case "response.failed":
    case "response.cancelled":
      readFailure(event["response"], parts);
      return false;
    case "error":
      parts.push({ type: "error", failure: { status: failedStatus(event), body: event } });
      return false;
    default:
      // A bare error object, of a server that knows no event for it.
      if (type === "" && isObject(event["error"])) {
        parts.push({ type: "error", failure: { status: failedStatus(event), body: event } });
      }
      return false;
  }
}

function readStart(response: unknown, state: ReadState, parts: StreamPart[]): void {
  if (state.started || !isObject(response)) return;
  state.started = true;
  const { id, model } = response;
  parts.push({
    type: "start",
    id: typeof id === "string" ? id : null,
    model: typeof model === "string" && model !== "" ? model : null,
  });
}

function readItem(event: Fields, item: Fields, done: boolean, state: ReadState, parts: StreamPart[]): void {
  const known = itemAt(event, state);
  if (!known) return;
  known.describe(item, parts);
  if (done) known.end(item, parts);
}

/** The item an event belongs to; begun by what says its type. */
function itemAt(event: Fields, state: ReadState): StreamItem | undefined {
  const index = typeof event["output_index"] === "number" ? event["output_index"] : 0;
  let item = state.items.get(index);
  if (!item) {
    if (state.items.size === LIMITS.streamItemsMax)
      throw new Error(`a stream with over ${LIMITS.streamItemsMax} items`);
    item = new StreamItem(() => state.calls++);
    state.items.set(index, item);
  }
  return item;
}

/** The whole response stands in the last event: what no event has said is taken from there. */
function readEnd(response: unknown, type: string, state: ReadState, parts: StreamPart[]): void {
  readStart(response, state, parts);
  const whole = isObject(response) ? response : {};
  const output = Array.isArray(whole["output"]) ? whole["output"] : [];
  output.forEach((item: unknown, index) => {
    if (!isObject(item)) return;
    // An index no event has spoken of, in a stream that did not leave any out: some number their events otherwise.
    if (!state.items.has(index) && state.items.size >= output.length) return;
    readItem({ output_index: index }, item, true, state, parts);
  });
  for (const item of state.items.values()) item.end(null, parts);
  const usage = readUsage(whole["usage"]);
  if (usage) parts.push({ type: "usage", usage });
  // The event says it too, for a response that does not.
  const status = whole["status"] ?? type.slice("response.".length);
  const reason = finishOf({ ...whole, status }, state.calls > 0) ?? (state.calls > 0 ? "tool_calls" : "stop");
  parts.push({ type: "finish", choice: 0, reason });
}

function readFailure(response: unknown, parts: StreamPart[]): void {
  const whole = isObject(response) ? response : {};
  const usage = readUsage(whole["usage"]);
  // What was used up to here counts.
  if (usage) parts.push({ type: "usage", usage });
  const body = { error: isObject(whole["error"]) ? whole["error"] : { message: "the response failed" } };
  parts.push({ type: "error", failure: { status: failedStatus(body), body } });
}
