/** A call that waits for its result. */
export interface PendingCall {
  id: string;
  name: string;
  /** The id is the client's own, not one of ours. */
  given: boolean;
}

/** Calls in the order they were made; those before `at` have their answer. */
interface Line {
  calls: PendingCall[];
  at: number;
}

/** The calls of a conversation that nobody has answered yet. Finding one costs the same however many there are. */
export class PendingCalls {
  readonly #byId = new Map<string, Line>();
  readonly #byName = new Map<string, Line>();
  /** By name, those whose id is ours. */
  readonly #unnamed = new Map<string, Line>();
  readonly #answered = new Set<PendingCall>();

  add(call: PendingCall): void {
    append(this.#byId, call.id, call);
    append(this.#byName, call.name, call);
    if (!call.given) append(this.#unnamed, call.name, call);
  }

  /**
   * The call a result answers, which then waits no longer: by id where there is one, else the oldest of that name. Some invent
   * an id for the answer alone: it may stand for a call that has none. Null when none waits.
   */
  take(id: string | undefined, name: string): PendingCall | null {
    const call = id
      ? (this.#next(this.#byId.get(id)) ?? this.#next(this.#unnamed.get(name)))
      : this.#next(this.#byName.get(name));
    if (call) this.#answered.add(call);
    return call;
  }

  #next(line: Line | undefined): PendingCall | null {
    if (!line) return null;
    for (; line.at < line.calls.length; line.at++) {
      const call = line.calls[line.at];
      if (call && !this.#answered.has(call)) return call;
    }
    return null;
  }
}

function append(lines: Map<string, Line>, key: string, call: PendingCall): void {
  const line = lines.get(key);
  if (line) line.calls.push(call);
  else lines.set(key, { calls: [call], at: 0 });
}
