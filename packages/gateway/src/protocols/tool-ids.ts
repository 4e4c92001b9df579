import { UniqueNames } from "./unique-names.ts";

/** Calls under one id of the client's, and how many of them have their result. */
interface Waiting {
  wires: string[];
  answered: number;
}

/**
 * Ids of the calls of one conversation as they go upstream, where they must be unique: some providers give the calls of
 * two turns, or two calls of one turn, the same id. Each result is matched to the call it answers, in order.
 */
export class ToolIds {
  readonly #wireId: (id: string) => string;
  readonly #used = new UniqueNames();
  /** Calls of the last assistant turn that still wait for a result, by the client's id. */
  #waiting = new Map<string, Waiting>();

  /** `wireId`: an id in the alphabet of whom it goes to, always the same for the same one. */
  constructor(wireId: (id: string) => string) {
    this.#wireId = wireId;
  }

  /** A new assistant turn: results can only answer its calls. */
  turn(): void {
    this.#waiting = new Map();
  }

  /** The upstream's id for a call. */
  call(id: string): string {
    const wire = this.#used.take(this.#wireId(id), (base, n) => `${base}_${n}`);
    const waiting = this.#waiting.get(id);
    if (waiting) waiting.wires.push(wire);
    else this.#waiting.set(id, { wires: [wire], answered: 0 });
    return wire;
  }

  /** The upstream's id of the call that a result answers; null when none waits for it. */
  result(id: string): string | null {
    const waiting = this.#waiting.get(id);
    return waiting?.wires[waiting.answered++] ?? null;
  }

  /** The client's id of a call that nobody has answered; null when there is none. */
  get unanswered(): string | null {
    for (const [id, { wires, answered }] of this.#waiting) if (answered < wires.length) return id;
    return null;
  }
}
