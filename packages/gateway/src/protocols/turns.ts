import { GatewayError } from "../core/errors.ts";
import type { Fields } from "./field-checks.ts";
import { ToolIds } from "./tool-ids.ts";

/** Said for a user who has to speak first. */
const OPENING = ".";
/** Said for a user where the conversation ends with the model's own words and the model does not go on from them. */
const GO_ON = "Continue.";

/** Whose turn it is. */
export type Side = "user" | "assistant";

/** One side's turn: results stand before everything else in it. */
interface Turn {
  role: Side;
  results: Fields[];
  content: Fields[];
}

/**
 * A conversation in alternating turns, a user's first, for providers that take no other, and that want every call answered
 * in the turn after it and every result to answer one.
 */
export class Turns {
  readonly #turns: Turn[] = [];
  readonly #ids: ToolIds;

  /** `wireId`: a call's id in the provider's alphabet, always the same for the same one. */
  constructor(wireId: (id: string) => string) {
    this.#ids = new ToolIds(wireId);
  }

  /** The id that a call of the model's has upstream. */
  call(id: string): string {
    this.#turnFor("assistant");
    return this.#ids.call(id);
  }

  /** The id of the call that a result answers. Throws invalid_request where there is none. */
  result(id: string): string {
    const wire = this.#ids.result(id);
    if (wire !== null) return wire;
    throw answersNothing(id, "the assistant message before it");
  }

  /** Says `blocks` for a side: nothing, where there are none. Throws invalid_request when a call is passed over. */
  say(role: Side, blocks: readonly Fields[], areResults = false): void {
    if (blocks.length === 0) return;
    const turn = this.#turnFor(role);
    (areResults ? turn.results : turn.content).push(...blocks);
  }

  /**
   * The turns. `text` makes a block of words; `prefill`: the model goes on from its own last words, which may not end in white
   * space. Throws invalid_request for a call without a result.
   */
  end(text: (words: string) => Fields, prefill: boolean): { role: Side; content: Fields[] }[] {
    this.#checkAnswered();
    const turns = this.#turns;
    const last = turns[turns.length - 1];
    if (last?.role === "assistant") {
      if (prefill) trimEnd(last);
      else this.say("user", [text(GO_ON)]);
    }
    if (turns[0]?.role !== "user") turns.unshift({ role: "user", results: [], content: [text(OPENING)] });
    return turns.map(({ role, results, content }) => ({ role, content: [...results, ...content] }));
  }

  #checkAnswered(): void {
    const id = this.#ids.unanswered;
    if (id === null) return;
    const message = `the tool call ${quoted(id)} has no result in the message after it; send one`;
    throw new GatewayError("invalid_request", message, { param: "messages" });
  }

  #turnFor(role: Side): Turn {
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

/** invalid_request for a result by whose id nothing in `where` was called. */
export function answersNothing(callId: string, where: string): GatewayError {
  const message = `the tool result for ${quoted(callId)} answers no tool call of ${where}`;
  return new GatewayError("invalid_request", message, { param: "messages" });
}

function trimEnd({ content }: Turn): void {
  const last = content[content.length - 1];
  if (typeof last?.["text"] === "string") last["text"] = last["text"].trimEnd();
}

function quoted(id: string): string {
  return JSON.stringify(id.slice(0, 80));
}
