import { GatewayError } from "../../core/errors.ts";
import type { Block, Message } from "../../core/message.ts";
import { wordOf } from "../field-checks.ts";
import { wireToolName } from "../tool-names.ts";
import { callBlock, ownThoughts, plainBlock, resultBlock } from "./encode-blocks.ts";
import { ToolIds } from "./tool-ids.ts";
import type { Wire } from "./wire.ts";

/** Said for a user who has to speak first. */
const OPENING = ".";
/** Said for a user where the conversation ends with the model's own words and the model does not go on from them. */
const GO_ON = "Continue.";

/** One side's turn: results stand before everything else in it. */
interface Turn {
  role: "user" | "assistant";
  results: Wire[];
  content: Wire[];
}

/** A conversation as Anthropic takes it. */
export interface Conversation {
  system: Wire[];
  messages: { role: string; content: Wire[] }[];
}

/**
 * The messages in alternating turns, a user's first; leading system messages apart. Hints that find no place are added to
 * `dropped`. Throws invalid_request for a result that answers no call, and for a call without a result: Anthropic refuses both.
 */
export function encodeMessages(messages: readonly Message[], prefill: boolean, dropped: Set<string>): Conversation {
  const opening = messages.findIndex((message) => message.role !== "system");
  const leading = opening === -1 ? messages : messages.slice(0, opening);
  const system = leading.flatMap((message) => message.blocks.filter(isText).flatMap((block): Wire[] => wireOf(block)));
  const turns = new Turns(dropped);
  if (opening !== -1) for (const message of messages.slice(opening)) turns.add(message);
  return { system, messages: turns.end(prefill) };
}

/** Puts messages together into turns. */
class Turns {
  readonly #turns: Turn[] = [];
  readonly #ids = new ToolIds();
  readonly #dropped: Set<string>;

  constructor(dropped: Set<string>) {
    this.#dropped = dropped;
  }

  add(message: Message): void {
    if (message.name !== undefined) this.#dropped.add("name");
    const role = message.role === "assistant" ? "assistant" : "user";
    for (const block of message.blocks) {
      const wire = message.role === "system" ? inlineSystem(block) : this.#encode(block, role);
      for (const piece of wire) this.#push(role, piece, block.type === "tool_result");
    }
  }

  end(prefill: boolean): Conversation["messages"] {
    const turns = this.#turns;
    const last = turns[turns.length - 1];
    this.#checkAnswered();
    if (last?.role === "assistant") {
      if (prefill) trimEnd(last);
      if (!prefill) this.#push("user", { type: "text", text: GO_ON }, false);
    }
    if (turns[0]?.role !== "user")
      turns.unshift({ role: "user", results: [], content: [{ type: "text", text: OPENING }] });
    return turns
      .map(({ role, results, content }) => ({ role, content: [...results, ...content] }))
      .filter(({ content }) => content.length > 0);
  }

  #encode(block: Block, role: Turn["role"]): Wire[] {
    switch (block.type) {
      case "reasoning":
        return this.#thoughts(block);
      case "tool_call":
        this.#turnFor(role);
        // Gemini's proof on a call is for Gemini.
        if (block.signature) this.#dropped.add("reasoning_history");
        // A name without a wire form is in no request that gets here by itself: its tool cannot be offered.
        return [callBlock(block, this.#ids.call(block.id), wireToolName(block.name) ?? "tool")];
      case "tool_result":
        return [resultBlock(block, this.#answered(block.callId))];
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

  #answered(id: string): string {
    const wire = this.#ids.result(id);
    if (wire !== null) return wire;
    throw new GatewayError(
      "invalid_request",
      `the tool result for ${JSON.stringify(id.slice(0, 80))} answers no tool call of the assistant message before it`,
      { param: "messages" },
    );
  }

  #checkAnswered(): void {
    const id = this.#ids.unanswered;
    if (id === null) return;
    throw new GatewayError(
      "invalid_request",
      `the tool call ${JSON.stringify(id.slice(0, 80))} has no result in the message after it; send one`,
      { param: "messages" },
    );
  }

  #push(role: Turn["role"], block: Wire, isResult: boolean): void {
    const turn = this.#turnFor(role);
    if (isResult) turn.results.push(block);
    else turn.content.push(block);
  }

  #turnFor(role: Turn["role"]): Turn {
    const last = this.#turns[this.#turns.length - 1];
    if (last?.role === role) return last;
    // The user's turn is over: whatever the model called has been answered by now, or never will be.
    if (role === "assistant") {
      this.#checkAnswered();
      this.#ids.turn();
    }
    const turn: Turn = { role, results: [], content: [] };
    this.#turns.push(turn);
    return turn;
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

/** The beginning of an answer may not end in white space. */
function trimEnd(turn: Turn): void {
  const last = turn.content[turn.content.length - 1];
  if (last?.["type"] !== "text") return;
  last["text"] = wordOf(last["text"]).trimEnd();
}
