import type { Block, Message } from "../../core/message.ts";
import { wordOf } from "../field-checks.ts";
import { wireToolName } from "../tool-names.ts";
import { type Side, Turns } from "../turns.ts";
import { callBlock, ownThoughts, plainBlock, resultBlock } from "./encode-blocks.ts";
import { wireToolId } from "./tool-ids.ts";
import type { Wire } from "./wire.ts";

/** A conversation as Anthropic takes it. */
export interface Conversation {
  system: Wire[];
  messages: { role: Side; content: Wire[] }[];
}

/**
 * The messages in alternating turns, a user's first; leading system messages apart. Hints that find no place are added to
 * `dropped`. Throws invalid_request for a result that answers no call, and for a call without a result: Anthropic refuses both.
 */
export function encodeMessages(messages: readonly Message[], prefill: boolean, dropped: Set<string>): Conversation {
  const opening = messages.findIndex((message) => message.role !== "system");
  const leading = opening === -1 ? messages : messages.slice(0, opening);
  const system = leading.flatMap((message) => message.blocks.filter(isText).flatMap((block): Wire[] => wireOf(block)));
  const writer = new TurnWriter(dropped);
  if (opening !== -1) for (const message of messages.slice(opening)) writer.add(message);
  return { system, messages: writer.turns.end((text) => ({ type: "text", text }), prefill) };
}

/** Says messages in turns. */
class TurnWriter {
  readonly turns = new Turns(wireToolId);
  readonly #dropped: Set<string>;

  constructor(dropped: Set<string>) {
    this.#dropped = dropped;
  }

  add(message: Message): void {
    if (message.name !== undefined) this.#dropped.add("name");
    const role = message.role === "assistant" ? "assistant" : "user";
    for (const block of message.blocks) {
      const wire = message.role === "system" ? inlineSystem(block) : this.#encode(block);
      this.turns.say(role, wire, block.type === "tool_result");
    }
  }

  #encode(block: Block): Wire[] {
    switch (block.type) {
      case "reasoning":
        return this.#thoughts(block);
      case "tool_call":
        // Gemini's proof on a call is for Gemini.
        if (block.signature) this.#dropped.add("reasoning_history");
        // A name without a wire form is in no request that gets here by itself: its tool cannot be offered.
        return [callBlock(block, this.turns.call(block.id), wireToolName(block.name) ?? "tool")];
      case "tool_result":
        return [resultBlock(block, this.turns.result(block.callId))];
      case "image":
        if (block.detail !== undefined && block.detail !== "auto") this.#dropped.add("image_detail");
    }
    return wireOf(block);
  }

  #thoughts(block: Extract<Block, { type: "reasoning" }>): Wire[] {
    const own = ownThoughts(block);
    if (own.length === 0) this.#dropped.add("reasoning_history");
    return own;
  }
}

/** An instruction in the middle of a conversation, for models that know it only at the top. */
function inlineSystem(block: Block): Wire[] {
  const wire = isText(block) ? plainBlock(block) : null;
  if (!wire) return [];
  return [{ ...wire, text: `<system>\n${wordOf(wire["text"])}\n</system>` }];
}

function wireOf(block: Block): Wire[] {
  const wire = plainBlock(block);
  return wire ? [wire] : [];
}

/** Instructions are made of nothing else. */
function isText(block: Block): boolean {
  return block.type === "text";
}
