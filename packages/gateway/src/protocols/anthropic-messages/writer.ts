import type { Usage } from "@sluicegate/contract";
import type { Annotation } from "../../core/message.ts";
import type { FinishReason, Signature, StreamPart } from "../../core/stream-part.ts";
import { wordOf } from "../field-checks.ts";
import { mergeUsage } from "../protocol.ts";
import { wrapSignature } from "../signature.ts";
import type { Shown, StreamWriter } from "../translation.ts";
import { wireCitation } from "./annotations.ts";
import { CUSTOM_INPUT } from "./encode-blocks.ts";
import { messageId } from "./encode-reply.ts";
import { stopReason } from "./finish.ts";
import { type Segment, SegmentQueue } from "./segments.ts";
import { wireToolId } from "./tool-ids.ts";
import { wireUsage } from "./usage.ts";
import { NAME, sseEvent, UNSIGNED } from "./wire.ts";

/** Writes a Messages stream (WIRE A3.3, C9). */
export function streamWriter(shown: Shown): StreamWriter {
  const writer = new MessageWriter(shown);
  return {
    write: (part) => writer.write(part),
    end: (metadata) => writer.end(metadata),
  };
}

/**
 * The events of one message. Nothing is said before the first output: by then the model and what is known of the usage can
 * stand in `message_start`. Only the first choice is told; blocks never overlap (see `SegmentQueue`).
 */
class MessageWriter {
  readonly #shown: Shown;
  readonly #queue = new SegmentQueue((segment, said) => this.#say(segment, said));
  #usage: Partial<Usage> = {};
  #model: string | null = null;
  #started = false;
  #index = -1;
  #out = "";
  #finish: FinishReason | null = null;
  #stopSequence: string | null = null;
  #called = false;
  #refused = false;

  constructor(shown: Shown) {
    this.#shown = shown;
  }

  write(part: StreamPart): Buffer | null {
    switch (part.type) {
      case "start":
        this.#model = part.model;
        break;
      case "usage":
        mergeInto(this.#usage, part.usage);
        break;
      case "finish":
        if (part.choice === 0) this.#onFinish(part);
        break;
      case "error":
        break;
      default:
        if (part.choice === 0) this.#onOutput(part);
    }
    return this.#flush();
  }

  end(metadata: Record<string, unknown> | null): Buffer {
    this.#start();
    this.#queue.end();
    const reason = stopReason(this.#finish, this.#stopSequence, { called: this.#called, refused: this.#refused });
    const delta = JSON.stringify({ stop_reason: reason, stop_sequence: this.#stopSequence });
    this.#out += sseEvent("message_delta", `,"delta":${delta},"usage":${JSON.stringify(wireUsage(this.#usage))}`);
    this.#out += sseEvent("message_stop", metadata ? `,"gateway_metadata":${JSON.stringify(metadata)}` : "");
    return this.#flush() ?? Buffer.alloc(0);
  }

  #flush(): Buffer | null {
    if (this.#out === "") return null;
    const bytes = Buffer.from(this.#out);
    this.#out = "";
    return bytes;
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    const message = {
      id: messageId(this.#shown),
      type: "message",
      role: "assistant",
      model: this.#model ?? this.#shown.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: wireUsage(this.#usage),
    };
    this.#out += sseEvent("message_start", `,"message":${JSON.stringify(message)}`);
  }

  #onFinish({ reason, stopSequence }: Extract<StreamPart, { type: "finish" }>): void {
    this.#start();
    this.#finish = reason;
    this.#stopSequence = stopSequence ?? null;
    this.#queue.end();
  }

  #onOutput(part: Exclude<StreamPart, { type: "start" | "usage" | "finish" | "error" }>): void {
    if (saysNothing(part)) return;
    this.#start();
    switch (part.type) {
      case "text":
        this.#queue.text("text", part.text);
        break;
      case "refusal":
        this.#refused = true;
        this.#queue.text("text", part.text);
        break;
      case "reasoning":
        this.#onReasoning(part);
        break;
      case "tool_start":
        this.#called = true;
        if (part.signature) this.#queue.proof(wrapSignature(part.signature, "call", NAME));
        this.#queue.openCall(part.index, {
          id: wireToolId(part.id === "" ? `call_${part.index}` : part.id),
          name: part.name,
          custom: part.custom === true,
        });
        break;
      case "tool_arguments":
        this.#queue.callText(part.index, part.text);
        break;
      case "tool_end":
        this.#queue.endCall(part.index);
        break;
      case "annotation":
        this.#onAnnotation(part.annotation);
    }
  }

  #onReasoning({ text, signature, encrypted }: Extract<StreamPart, { type: "reasoning" }>): void {
    if (text !== "") this.#queue.text("thinking", text);
    if (signature) this.#sign(signature, "text");
    if (!encrypted) return;
    // Thoughts that only another provider can read stay with the words that sum them up.
    if (encrypted.dialect !== NAME && this.#queue.lastIs("thinking")) return this.#sign(encrypted, "encrypted");
    const block = { type: "redacted_thinking", data: wrapSignature(encrypted, "encrypted", NAME) };
    if (encrypted.dialect === NAME) this.#queue.whole(block);
    else this.#queue.sealed({ kind: "whole", block });
  }

  #sign(made: Signature, on: "text" | "encrypted"): void {
    const signature = wrapSignature(made, on, NAME);
    if (made.dialect === NAME || this.#queue.lastIs("thinking")) this.#queue.sign(signature);
    else this.#queue.sealed({ kind: "thinking", signature });
  }

  #onAnnotation(annotation: Annotation): void {
    const cited = wireCitation(annotation);
    if (cited) return this.#queue.cite(cited);
    if (annotation.type !== "opaque" || annotation.dialect !== NAME) return;
    const value = annotation.value as Record<string, unknown>;
    if (wordOf(value["type"]).endsWith("_delta")) this.#queue.delta(value);
    else this.#queue.whole(value);
  }

  /** One step of the block at the head of the queue. */
  #say(segment: Segment, said: "open" | "close" | { delta: string } | { value: Record<string, unknown> }): void {
    if (said === "open") {
      this.#index++;
      this.#event("content_block_start", `"content_block":${opening(segment)}`);
      if (segment.kind === "call" && segment.call.custom) this.#inputDelta(`{"${CUSTOM_INPUT}":"`);
    } else if (said === "close") {
      if (segment.kind === "thinking") {
        const proof = JSON.stringify(segment.signature ?? UNSIGNED);
        this.#event("content_block_delta", `"delta":{"type":"signature_delta","signature":${proof}}`);
      }
      if (segment.kind === "call" && segment.call.custom) this.#inputDelta('"}');
      this.#out += sseEvent("content_block_stop", `,"index":${this.#index}`);
    } else if ("value" in said) {
      this.#event("content_block_delta", `"delta":${JSON.stringify(said.value)}`);
    } else if (segment.kind === "call") {
      this.#inputDelta(segment.call.custom ? JSON.stringify(said.delta).slice(1, -1) : said.delta);
    } else {
      const [type, key] = segment.kind === "thinking" ? ["thinking_delta", "thinking"] : ["text_delta", "text"];
      this.#event("content_block_delta", `"delta":{"type":"${type}","${key}":${JSON.stringify(said.delta)}}`);
    }
  }

  #inputDelta(text: string): void {
    this.#event("content_block_delta", `"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(text)}}`);
  }

  #event(type: string, fields: string): void {
    this.#out += sseEvent(type, `,"index":${this.#index},${fields}`);
  }
}

/** Begins a block that may stay empty. */
function saysNothing(part: StreamPart): boolean {
  if (part.type === "reasoning") return part.text === "" && !part.signature && !part.encrypted;
  return (part.type === "text" || part.type === "refusal") && part.text === "";
}

function opening(segment: Segment): string {
  switch (segment.kind) {
    case "text":
      return '{"type":"text","text":""}';
    case "thinking":
      return '{"type":"thinking","thinking":"","signature":""}';
    case "call":
      return `{"type":"tool_use","id":${JSON.stringify(segment.call.id)},"name":${JSON.stringify(segment.call.name)},"input":{}}`;
    case "whole":
      return JSON.stringify(segment.block);
  }
}

function mergeInto(into: Partial<Usage>, report: Partial<Usage>): void {
  mergeUsage(into as Usage, report);
}
