import { hash } from "node:crypto";

const FORM = /^[a-zA-Z0-9_-]{1,128}$/;
const HASH_CHARS = 24;

/** A call's id in Anthropic's alphabet: itself, or the same stand-in for the same id at every call. */
export function wireToolId(id: string): string {
  return FORM.test(id) ? id : `toolu_${hash("sha256", id, "hex").slice(0, HASH_CHARS)}`;
}

/**
 * Ids of the calls of one conversation as they go upstream, where they must be unique: some providers give the calls of
 * two turns, or two calls of one turn, the same id. Each result is matched to the call it answers, in order.
 */
export class ToolIds {
  readonly #wireId: (id: string) => string;
  readonly #used = new Set<string>();
  /** Calls of the last assistant turn that still wait for a result, by the client's id. */
  #waiting = new Map<string, string[]>();

  /** `wireId`: an id in the alphabet of whom it goes to, always the same for the same one. */
  constructor(wireId: (id: string) => string = wireToolId) {
    this.#wireId = wireId;
  }

  /** A new assistant turn: results can only answer its calls. */
  turn(): void {
    this.#waiting = new Map();
  }

  /** The upstream's id for a call. */
  call(id: string): string {
    const base = this.#wireId(id);
    let wire = base;
    for (let n = 2; this.#used.has(wire); n++) wire = `${base}_${n}`;
    this.#used.add(wire);
    const waiting = this.#waiting.get(id);
    if (waiting) waiting.push(wire);
    else this.#waiting.set(id, [wire]);
    return wire;
  }

  /** The upstream's id of the call that a result answers; null when none waits for it. */
  result(id: string): string | null {
    return this.#waiting.get(id)?.shift() ?? null;
  }

  /** The client's id of a call that nobody has answered; null when there is none. */
  get unanswered(): string | null {
    for (const [id, wires] of this.#waiting) if (wires.length > 0) return id;
    return null;
  }
}
