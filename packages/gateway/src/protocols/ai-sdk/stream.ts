import { LIMITS } from "../../core/limits.ts";
import type { StreamPart } from "../../core/stream-part.ts";
import { statusNamed } from "../error-facts.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { eventObject, type StreamReader } from "../protocol.ts";
import { readToolName } from "../tool-names.ts";
import { annotationOf } from "./annotations.ts";
import { finishReasonOf, stopSequenceOf } from "./finish.ts";
import { proofOf } from "./proof.ts";
import { usageOf } from "./usage.ts";

/** Reads the SDK's stream parts, one an event. */
export function streamReader(): StreamReader {
  const state = new ReaderState();
  return {
    read(data) {
      const parts = data.trim() === "" ? [] : state.read(eventObject(data));
      return { parts, usageOnly: false, terminator: state.over };
    },
  };
}

/** A call that has begun. */
interface OpenCall {
  index: number;
  /** Its arguments came in pieces. */
  said: boolean;
  ended: boolean;
}

/** What is known of a stream. */
class ReaderState {
  readonly #calls = new Map<string, OpenCall>();
  /** Thoughts by their number: whether they have text, and the last word on what proves them. */
  readonly #thoughts = new Map<string, { text: boolean; metadata: Fields }>();
  over = false;

  read(part: Fields): StreamPart[] {
    switch (part["type"]) {
      case "response-metadata":
        return [{ type: "start", id: textOf(part["id"]), model: textOf(part["modelId"]) }];
      case "text-delta":
        return said("text", part["delta"]);
      case "reasoning-start":
      case "reasoning-delta":
        return this.#thought(part);
      case "reasoning-end":
        return [...this.#thought(part), ...this.#proof(String(part["id"]))];
      case "tool-input-start":
        return part["providerExecuted"] === true ? [] : this.#open(String(part["id"]), part);
      case "tool-input-delta":
        return this.#arguments(String(part["id"]), part["delta"]);
      case "tool-call":
        return part["providerExecuted"] === true ? [] : this.#call(part);
      case "source":
      case "file":
        return [{ type: "annotation", choice: 0, annotation: annotationOf(part) }];
      case "finish":
        return this.#finish(part);
      case "error":
        return [failed(part)];
      default:
        // Ends of text and of inputs, and whatever a later version adds.
        return [];
    }
  }

  #thought(part: Fields): StreamPart[] {
    const id = String(part["id"]);
    const thought = this.#thoughts.get(id) ?? { text: false, metadata: {} };
    bounded(this.#thoughts.set(id, thought));
    if (isObject(part["providerMetadata"])) {
      for (const [name, own] of Object.entries(part["providerMetadata"])) {
        const before = thought.metadata[name];
        thought.metadata[name] = { ...(isObject(before) ? before : {}), ...(isObject(own) ? own : {}) };
      }
    }
    const parts = said("reasoning", part["delta"]);
    if (parts.length > 0) thought.text = true;
    return parts;
  }

  /** What proves a block of thoughts ends it. */
  #proof(id: string): StreamPart[] {
    const thought = this.#thoughts.get(id);
    this.#thoughts.delete(id);
    const proof = thought && proofOf(thought.metadata);
    if (!proof) return [];
    const place = thought.text ? { signature: proof } : { encrypted: proof };
    return [{ type: "reasoning", choice: 0, text: "", ...place }];
  }

  #open(id: string, { toolName, providerMetadata }: Fields): StreamPart[] {
    if (this.#calls.has(id)) return [];
    const index = this.#calls.size;
    bounded(this.#calls.set(id, { index, said: false, ended: false }));
    const signature = proofOf(providerMetadata);
    const name = readToolName(textOf(toolName) ?? "");
    return [{ type: "tool_start", choice: 0, index, id, name, ...(signature && { signature }) }];
  }

  #arguments(id: string, text: unknown): StreamPart[] {
    const call = this.#calls.get(id);
    if (!call || call.ended || typeof text !== "string" || text === "") return [];
    call.said = true;
    return [{ type: "tool_arguments", choice: 0, index: call.index, text }];
  }

  /** The whole call: all of it where no pieces came before. */
  #call(part: Fields): StreamPart[] {
    const id = String(part["toolCallId"]);
    const opened = this.#open(id, part);
    const call = this.#calls.get(id);
    if (!call || call.ended) return opened;
    const input = call.said ? [] : this.#arguments(id, part["input"]);
    return [...opened, ...input, ...this.#end(call)];
  }

  #end(call: OpenCall): StreamPart[] {
    if (call.ended) return [];
    call.ended = true;
    return [{ type: "tool_end", choice: 0, index: call.index }];
  }

  #finish({ usage: raw, finishReason, providerMetadata }: Fields): StreamPart[] {
    this.over = true;
    const proofs = [...this.#thoughts.keys()].flatMap((id) => this.#proof(id));
    const ends = [...this.#calls.values()].flatMap((call) => this.#end(call));
    const usage = usageOf(raw, providerMetadata);
    const counted: StreamPart[] = usage ? [{ type: "usage", usage }] : [];
    const reason = finishReasonOf(finishReason, this.#calls.size > 0);
    const stopSequence = stopSequenceOf(providerMetadata);
    if (reason === null) return [...proofs, ...ends, ...counted];
    return [
      ...[...proofs, ...ends, ...counted],
      { type: "finish", choice: 0, reason, ...(stopSequence !== null && { stopSequence }) },
    ];
  }
}

function failed({ status, body }: Fields): StreamPart {
  const named = typeof status === "number" ? status : isObject(body) ? statusNamed(body) : null;
  const said = isObject(body) ? body : { error: { message: String(body) } };
  return { type: "error", failure: { status: named, body: said } };
}

function bounded(map: ReadonlyMap<string, unknown>): void {
  if (map.size > LIMITS.streamItemsMax) throw new Error(`a stream with over ${LIMITS.streamItemsMax} items`);
}

function said(type: "text" | "reasoning", text: unknown): StreamPart[] {
  return typeof text === "string" && text !== "" ? [{ type, choice: 0, text }] : [];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
