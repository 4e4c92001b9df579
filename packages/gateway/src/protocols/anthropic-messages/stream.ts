import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type EventReading, eventObject, type StreamReader } from "../protocol.ts";
import { readToolName } from "../tool-names.ts";
import { citation } from "./annotations.ts";
import { saidError, statusOf } from "./error.ts";
import { finishReasonOf } from "./finish.ts";
import { type Counts, readCounts, usageOf } from "./usage.ts";
import { NAME } from "./wire.ts";

const NOTHING: EventReading = { parts: [], usageOnly: false, terminator: false };
const OVER: EventReading = { parts: [], usageOnly: false, terminator: true };

/** One content block while it streams. */
type OpenBlock =
  | { kind: "text" | "opaque" }
  | { kind: "thinking"; signature: string }
  /** `input` is the call's own, where it came whole in the start; empty once arguments have been seen. */
  | { kind: "call"; call: number; input: string };

/** Reads the events of a Messages stream (WIRE A3.3, F2, F6). */
export function streamReader(): StreamReader {
  const state = new ReaderState();
  return {
    read(data, eventName) {
      const text = data.trim();
      if (text === "") return NOTHING;
      // No event of the protocol, but some servers that speak it end every stream so.
      if (text === "[DONE]") return OVER;
      const event = eventObject(text);
      if (saidError(event, eventName)) {
        return { ...NOTHING, parts: [{ type: "error", failure: { status: statusOf(event), body: event } }] };
      }
      if (event["type"] === "message_stop") return { ...OVER, parts: state.closeAll() };
      const parts = state.read(event);
      return parts.length === 0 ? NOTHING : { ...NOTHING, parts };
    },
  };
}

/** What is known of a stream. */
class ReaderState {
  readonly #open = new Map<number, OpenBlock>();
  readonly #counts: Counts = {};
  #calls = 0;
  #blocks = 0;
  #id: string | null = null;
  #started = false;
  #finished = false;

  read(event: Fields): StreamPart[] {
    switch (event["type"]) {
      case "message_start":
        return this.#start(isObject(event["message"]) ? event["message"] : {});
      case "content_block_start":
        return this.#openBlock(indexOf(event), isObject(event["content_block"]) ? event["content_block"] : {});
      case "content_block_delta":
        return isObject(event["delta"]) ? this.#delta(indexOf(event), event["delta"]) : [];
      case "content_block_stop":
        return this.#close(indexOf(event));
      case "message_delta":
        return this.#messageDelta(event);
      default:
        // `ping`, and whatever a later version adds.
        return [];
    }
  }

  /** Ends every block that is still open. */
  closeAll(): StreamPart[] {
    return [...this.#open.keys()].flatMap((index) => this.#close(index));
  }

  #start(message: Fields): StreamPart[] {
    const id = typeof message["id"] === "string" ? message["id"] : null;
    const again = this.#started;
    // A proxy that lost its upstream in the middle began anew: the two halves are no answer. The same one twice is.
    if (again && this.#blocks > 0 && id !== this.#id) throw new Error("a second message begins inside the answer");
    this.#started = true;
    this.#id = id;
    const model = typeof message["model"] === "string" && message["model"] !== "" ? message["model"] : null;
    const start: StreamPart[] = again ? [] : [{ type: "start", id, model }];
    return [...start, ...this.#usage(message["usage"])];
  }

  #openBlock(index: number, block: Fields): StreamPart[] {
    if (this.#open.size === LIMITS.streamItemsMax || this.#blocks++ > LIMITS.streamItemsMax) {
      throw new Error(`a stream with over ${LIMITS.streamItemsMax} blocks`);
    }
    const before = this.#open.has(index) ? this.#close(index) : [];
    return [...before, ...this.#openNew(index, block)];
  }

  #openNew(index: number, block: Fields): StreamPart[] {
    switch (block["type"]) {
      case "text": {
        this.#open.set(index, { kind: "text" });
        return text("text", block["text"]);
      }
      case "thinking": {
        this.#open.set(index, { kind: "thinking", signature: stringOf(block["signature"]) });
        // The first token, though nothing of it may be shown: the newest models think in silence and only sign.
        return [{ type: "reasoning", choice: 0, text: stringOf(block["thinking"]) }];
      }
      case "redacted_thinking": {
        this.#open.set(index, { kind: "opaque" });
        const encrypted = { dialect: NAME, value: stringOf(block["data"]) };
        return encrypted.value === "" ? [] : [{ type: "reasoning", choice: 0, text: "", encrypted }];
      }
      case "tool_use": {
        const call = this.#calls++;
        const given = isObject(block["input"]) && Object.keys(block["input"]).length > 0 ? block["input"] : null;
        this.#open.set(index, { kind: "call", call, input: given ? JSON.stringify(given) : "" });
        const name = readToolName(stringOf(block["name"]));
        return [{ type: "tool_start", choice: 0, index: call, id: stringOf(block["id"]), name }];
      }
      default:
        // Blocks of the provider's own tools: what came whole, and the beginning of what will be added to.
        this.#open.set(index, { kind: "opaque" });
        return [opaque(block)];
    }
  }

  #delta(index: number, delta: Fields): StreamPart[] {
    const block = this.#open.get(index);
    switch (delta["type"]) {
      case "text_delta":
        return text("text", delta["text"]);
      case "thinking_delta":
        return text("reasoning", delta["thinking"]);
      case "signature_delta":
        if (block?.kind === "thinking") block.signature = stringOf(delta["signature"]);
        return [];
      case "citations_delta":
        return isObject(delta["citation"]) ? [citation(delta["citation"])] : [];
      case "input_json_delta": {
        if (block?.kind !== "call") return block ? [opaque(delta)] : [];
        const piece = stringOf(delta["partial_json"]);
        if (piece === "") return [];
        block.input = "";
        return [{ type: "tool_arguments", choice: 0, index: block.call, text: piece }];
      }
      default:
        return block?.kind === "opaque" ? [opaque(delta)] : [];
    }
  }

  #close(index: number): StreamPart[] {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block?.kind === "thinking" && block.signature !== "") {
      return [{ type: "reasoning", choice: 0, text: "", signature: { dialect: NAME, value: block.signature } }];
    }
    if (block?.kind !== "call") return [];
    const { call, input } = block;
    const whole: StreamPart[] = input === "" ? [] : [{ type: "tool_arguments", choice: 0, index: call, text: input }];
    return [...whole, { type: "tool_end", choice: 0, index: call }];
  }

  #messageDelta(event: Fields): StreamPart[] {
    const parts = this.#usage(event["usage"]);
    const delta = isObject(event["delta"]) ? event["delta"] : {};
    const reason = finishReasonOf(delta["stop_reason"]);
    if (reason === null || this.#finished) return parts;
    this.#finished = true;
    const { stop_sequence: stopSequence } = delta;
    return [
      ...this.closeAll(),
      ...parts,
      {
        type: "finish",
        choice: 0,
        // Some say that the turn ended although it ended in a call.
        reason: reason === "stop" && this.#calls > 0 ? "tool_calls" : reason,
        ...(typeof stopSequence === "string" && { stopSequence }),
      },
    ];
  }

  #usage(raw: unknown): StreamPart[] {
    return readCounts(raw, this.#counts) ? [{ type: "usage", usage: usageOf(this.#counts) }] : [];
  }
}

function text(type: "text" | "reasoning", value: unknown): StreamPart[] {
  return typeof value === "string" && value !== "" ? [{ type, choice: 0, text: value }] : [];
}

function opaque(value: unknown): StreamPart {
  return { type: "annotation", choice: 0, annotation: { type: "opaque", dialect: NAME, value } };
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function indexOf(event: Fields): number {
  return typeof event["index"] === "number" ? event["index"] : 0;
}
