import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { awsStatus } from "../aws-error.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type EventReading, eventObject, type StreamReader } from "../protocol.ts";
import { readToolName } from "../tool-names.ts";
import { citation } from "./annotations.ts";
import { finishReasonOf } from "./finish.ts";
import { ERROR, EXCEPTION } from "./frames.ts";
import { stopSequenceOf } from "./stop-sequence.ts";
import { usageOf } from "./usage.ts";
import { ANSWER_TOOL, NAME } from "./wire.ts";

/** One content block while it streams. */
type OpenBlock =
  | { kind: "plain" | "opaque" | "answer" }
  | { kind: "thinking"; signature: string }
  | { kind: "call"; call: number };

/** Reads the events of a ConverseStream (WIRE B5, F4). Order is not promised: it is over with its end and its usage. */
export function streamReader(): StreamReader {
  const state = new ReaderState();
  return {
    read(data, eventName) {
      const name = eventName ?? "";
      const event = data === "" ? {} : eventObject(data);
      const type = name.startsWith(EXCEPTION) ? name.slice(EXCEPTION.length) : null;
      const code = name.startsWith(ERROR) ? name.slice(ERROR.length) : type;
      if (code !== null) return plain([errorPart(code, event)]);
      const parts = state.read(name, event);
      return { parts, usageOnly: false, terminator: state.over };
    },
  };
}

/** What is known of a stream. */
class ReaderState {
  readonly #open = new Map<number, OpenBlock>();
  #started = false;
  #calls = 0;
  #blocks = 0;
  #formed = false;
  #finished = false;
  #counted = false;

  /** Both the end and the usage have come. */
  get over(): boolean {
    return this.#finished && this.#counted;
  }

  read(name: string, event: Fields): StreamPart[] {
    const parts = this.#read(name, event);
    if (this.#started) return parts;
    this.#started = true;
    // The answer names neither itself nor its model.
    return [{ type: "start", id: null, model: null }, ...parts];
  }

  #read(name: string, event: Fields): StreamPart[] {
    switch (name) {
      case "contentBlockStart":
        return this.#start(indexOf(event), isObject(event["start"]) ? event["start"] : {});
      case "contentBlockDelta":
        return isObject(event["delta"]) ? this.#delta(indexOf(event), event["delta"]) : [];
      case "contentBlockStop":
        return this.#close(indexOf(event));
      case "messageStop":
        return this.#stop(event);
      case "metadata": {
        const usage = usageOf(event["usage"]);
        this.#counted = usage !== undefined;
        return usage ? [{ type: "usage", usage }] : [];
      }
      default:
        // `messageStart`, and whatever a later version adds.
        return [];
    }
  }

  #start(index: number, start: Fields): StreamPart[] {
    const { toolUse } = start;
    const ended = this.#open.has(index) ? this.#close(index) : [];
    if (isObject(toolUse) && toolUse["type"] !== "server_tool_use") {
      if (toolUse["name"] === ANSWER_TOOL) {
        this.#formed = true;
        this.#keep(index, { kind: "answer" });
        return ended;
      }
      const call = this.#calls++;
      this.#keep(index, { kind: "call", call });
      const [id, name] = [stringOf(toolUse["toolUseId"]), readToolName(stringOf(toolUse["name"]))];
      return [...ended, { type: "tool_start", choice: 0, index: call, id, name }];
    }
    // What a provider's own tools do, and pictures: the beginning of what will be added to.
    const other = Object.keys(start).some((key) => isObject(start[key]));
    this.#keep(index, { kind: other ? "opaque" : "plain" });
    return other ? [...ended, opaque(start)] : ended;
  }

  #delta(index: number, delta: Fields): StreamPart[] {
    const { text, toolUse, reasoningContent } = delta;
    if (typeof text === "string") return this.#block(index, "plain") && said("text", text);
    if (isObject(reasoningContent)) return this.#think(index, reasoningContent);
    const block = this.#open.get(index);
    if (isObject(toolUse) && block?.kind !== "opaque") {
      const input = stringOf(toolUse["input"]);
      if (input === "") return [];
      if (block?.kind === "answer") return said("text", input);
      return block?.kind === "call" ? [{ type: "tool_arguments", choice: 0, index: block.call, text: input }] : [];
    }
    if (isObject(delta["citation"])) return [citation(delta["citation"])];
    return Object.keys(delta).length > 0 ? [opaque(delta)] : [];
  }

  #think(index: number, content: Fields): StreamPart[] {
    const block = this.#block(index, "thinking");
    // A proof may come in pieces; it ends the thoughts, so that it is told with their end.
    if (block.kind === "thinking") block.signature += stringOf(content["signature"]);
    const sealed = stringOf(content["redactedContent"]);
    if (sealed !== "") {
      return [{ type: "reasoning", choice: 0, text: "", encrypted: { dialect: NAME, value: sealed } }];
    }
    return said("reasoning", stringOf(content["text"]));
  }

  /** The block of an index, opened by its first delta: only tools are announced. */
  #block(index: number, kind: "plain" | "thinking"): OpenBlock {
    const open = this.#open.get(index);
    if (open && (open.kind === kind || open.kind !== "plain")) return open;
    const block: OpenBlock = kind === "thinking" ? { kind, signature: "" } : { kind };
    this.#keep(index, block);
    return block;
  }

  #keep(index: number, block: OpenBlock): void {
    if (this.#blocks++ > LIMITS.streamItemsMax) throw new Error(`a stream with over ${LIMITS.streamItemsMax} blocks`);
    this.#open.set(index, block);
  }

  #close(index: number): StreamPart[] {
    const block = this.#open.get(index);
    this.#open.delete(index);
    if (block?.kind === "call") return [{ type: "tool_end", choice: 0, index: block.call }];
    if (block?.kind !== "thinking" || block.signature === "") return [];
    return [{ type: "reasoning", choice: 0, text: "", signature: { dialect: NAME, value: block.signature } }];
  }

  #stop(event: Fields): StreamPart[] {
    const ended = [...this.#open.keys()].flatMap((index) => this.#close(index));
    const held = { called: this.#calls > 0, formed: this.#formed };
    const reason = finishReasonOf(event["stopReason"], held);
    if (reason === null || this.#finished) return ended;
    this.#finished = true;
    const sequence = stopSequenceOf(event);
    return [...ended, { type: "finish", choice: 0, reason, ...(sequence !== null && { stopSequence: sequence }) }];
  }
}

function errorPart(type: string, event: Fields): StreamPart {
  const original = event["originalStatusCode"];
  const status = awsStatus(type) ?? (typeof original === "number" ? original : null);
  return { type: "error", failure: { status, body: { ...event, __type: type } } };
}

function plain(parts: StreamPart[]): EventReading {
  return { parts, usageOnly: false, terminator: false };
}

function said(type: "text" | "reasoning", text: string): StreamPart[] {
  return text === "" ? [] : [{ type, choice: 0, text }];
}

function opaque(value: unknown): StreamPart {
  return { type: "annotation", choice: 0, annotation: { type: "opaque", dialect: NAME, value } };
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function indexOf(event: Fields): number {
  return typeof event["contentBlockIndex"] === "number" ? event["contentBlockIndex"] : 0;
}
