import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { madeCallId } from "../call-ids.ts";
import { statusNamed } from "../error-facts.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type EventReading, eventObject, type StreamReader } from "../protocol.ts";
import { readToolName } from "../tool-names.ts";
import { annotationOf } from "./annotations.ts";
import { failedFinishStatus, finishReasonOf } from "./finish.ts";
import { usageOf } from "./usage.ts";

const NO_ARGUMENTS = "null";

/** Reads the events of a v2 chat stream (WIRE B6, F5). What they are stands in the JSON; the end mark behind it is optional. */
export function streamReader(): StreamReader {
  const state = new ReaderState();
  return {
    read(data) {
      const text = data.trim();
      if (text === "") return plain([]);
      if (text === "[DONE]") return { ...plain([]), terminator: true };
      return { ...plain(state.read(eventObject(text))), terminator: state.over };
    },
  };
}

/** What is known of a stream. */
class ReaderState {
  /** Our index of a call by Cohere's. */
  readonly #open = new Map<number, number>();
  /** A call that so far has said `null`, which as all of it is no arguments. */
  #unsaid: number | null = null;
  #calls = 0;
  #id = "";
  #started = false;
  over = false;

  read(event: Fields): StreamPart[] {
    const { type, delta } = event;
    const message = isObject(delta) && isObject(delta["message"]) ? delta["message"] : {};
    switch (type) {
      case "message-start":
        return this.#start(event);
      case "content-start":
      case "content-delta":
        return contentParts(message["content"]);
      case "tool-plan-delta":
        return said("text", message["tool_plan"]);
      case "tool-call-start":
        return this.#openCall(indexOf(event), message["tool_calls"]);
      case "tool-call-delta":
        return this.#arguments(indexOf(event), message["tool_calls"]);
      case "tool-call-end":
        return this.#closeCall(indexOf(event));
      case "citation-start":
        return citationParts(message["citations"]);
      case "message-end":
        return this.#end(isObject(delta) ? delta : {});
      default:
        // Ends of content and of citations, and whatever a later version adds; what has no type and a message is an error.
        return type === undefined && typeof event["message"] === "string" ? [failed(event, statusNamed(event))] : [];
    }
  }

  #start(event: Fields): StreamPart[] {
    if (this.#started) return [];
    this.#started = true;
    this.#id = typeof event["id"] === "string" ? event["id"] : "";
    return [{ type: "start", id: this.#id === "" ? null : this.#id, model: null }];
  }

  #openCall(wire: number, call: unknown): StreamPart[] {
    const ended = this.#closeCall(wire);
    if (!isObject(call)) return ended;
    if (this.#calls === LIMITS.streamItemsMax) throw new Error(`a stream with over ${LIMITS.streamItemsMax} calls`);
    const index = this.#calls++;
    this.#open.set(wire, index);
    const named = isObject(call["function"]) ? call["function"] : {};
    const name = readToolName(typeof named["name"] === "string" ? named["name"] : "");
    const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : madeCallId(this.#id, index, name);
    return [...ended, { type: "tool_start", choice: 0, index, id, name }, ...this.#said(index, named)];
  }

  #arguments(wire: number, call: unknown): StreamPart[] {
    const index = this.#open.get(wire);
    const named = isObject(call) && isObject(call["function"]) ? call["function"] : {};
    return index === undefined ? [] : this.#said(index, named);
  }

  #said(index: number, { arguments: given }: Fields): StreamPart[] {
    if (typeof given !== "string" || given === "") return [];
    const text = this.#unsaid === index ? NO_ARGUMENTS + given : given;
    this.#unsaid = text === NO_ARGUMENTS ? index : null;
    return this.#unsaid === null ? [{ type: "tool_arguments", choice: 0, index, text }] : [];
  }

  #closeCall(wire: number): StreamPart[] {
    const index = this.#open.get(wire);
    this.#open.delete(wire);
    return index === undefined ? [] : [{ type: "tool_end", choice: 0, index }];
  }

  #end(delta: Fields): StreamPart[] {
    if (this.over) return [];
    const usage = usageOf(delta["usage"]);
    const counted: StreamPart[] = usage ? [{ type: "usage", usage }] : [];
    const word = delta["finish_reason"];
    const status =
      failedFinishStatus(word) ?? (typeof delta["error"] === "string" && delta["error"] !== "" ? 502 : null);
    if (status !== null) return [...counted, failed(delta, statusNamed(delta) ?? status)];
    this.over = true;
    const ended = [...this.#open.keys()].flatMap((wire) => this.#closeCall(wire));
    const reason = finishReasonOf(word, this.#calls > 0);
    return [...ended, ...counted, ...(reason === null ? [] : [{ type: "finish" as const, choice: 0, reason }])];
  }
}

function failed(said: Fields, status: number | null): StreamPart {
  const { error, message, error_type: type, finish_reason: word } = said;
  const words = [error, message].find((each) => typeof each === "string" && each !== "");
  const body = {
    message: words ?? `the answer ended with ${String(word)}`,
    ...(type !== undefined && { error_type: type }),
  };
  return { type: "error", failure: { status, body } };
}

function contentParts(content: unknown): StreamPart[] {
  if (!isObject(content)) return [];
  return [...said("reasoning", content["thinking"]), ...said("text", content["text"])];
}

/** One citation; some versions send a list. */
function citationParts(citations: unknown): StreamPart[] {
  return [citations]
    .flat()
    .filter(isObject)
    .map((citation) => ({ type: "annotation", choice: 0, annotation: annotationOf(citation) }));
}

function said(type: "text" | "reasoning", text: unknown): StreamPart[] {
  return typeof text === "string" && text !== "" ? [{ type, choice: 0, text }] : [];
}

function plain(parts: StreamPart[]): EventReading {
  return { parts, usageOnly: false, terminator: false };
}

function indexOf(event: Fields): number {
  return typeof event["index"] === "number" ? event["index"] : 0;
}
