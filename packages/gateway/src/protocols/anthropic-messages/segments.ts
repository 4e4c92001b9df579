/** A call as its block names it. */
export interface CallHead {
  id: string;
  name: string;
  /** Its arguments are free text and have to be told as JSON. */
  custom: boolean;
}

/** What is said of a block in one step. */
export type Said = "open" | "close" | { delta: string } | { value: Record<string, unknown> };

interface SegmentBase {
  /** Nothing more will be added. */
  ended: boolean;
  /** What waits until the blocks before it are over. */
  waiting: ({ delta: string } | { value: Record<string, unknown> })[];
}

/** One block of the answer. */
export type Segment = SegmentBase &
  (
    | { kind: "text" }
    | { kind: "thinking"; signature: string | null }
    | { kind: "call"; index: number; call: CallHead }
    /** A block that comes whole, or is this dialect's own. */
    | { kind: "whole"; block: Record<string, unknown> }
  );

/** Thoughts of which nothing can be read: a proof of some maker's, or a block. */
export type Sealed = { kind: "thinking"; signature: string } | { kind: "whole"; block: Record<string, unknown> };

/**
 * Puts the blocks of an answer one behind the other. Upstreams may stream several calls at once; here only one block is open:
 * the first is told as it comes, what belongs to a later one waits until all before it are over. Each part is handled in
 * constant time, and kept at most once.
 */
export class SegmentQueue {
  readonly #say: (segment: Segment, said: Said) => void;
  /** The one that is open, and those that wait. */
  #segments: Segment[] = [];
  readonly #calls = new Map<number, Segment>();
  /** Thoughts that wait for what they come before. */
  #late: Segment[] = [];
  /** There are words behind the last call. */
  #spoken = false;

  constructor(say: (segment: Segment, said: Said) => void) {
    this.#say = say;
  }

  /** More text or thoughts: of the last block if it is of that kind, else of a new one. */
  text(kind: "text" | "thinking", text: string): void {
    if (text !== "") this.#add(this.#last(kind), { delta: text });
  }

  /** Is the last block of that kind, and still open? */
  lastIs(kind: Segment["kind"]): boolean {
    const last = this.#segments[this.#segments.length - 1];
    return last?.kind === kind && !last.ended;
  }

  /** The proof of the last thoughts, which ends them; without thoughts, of ones without words. */
  sign(signature: string): void {
    const segment = this.#last("thinking");
    if (segment.kind === "thinking") segment.signature = signature;
    segment.ended = true;
    this.#advance();
  }

  /**
   * Another maker's thoughts without words. Clients take the last block for the answer (Claude Code prints nothing when it is
   * a thought), so that behind words they wait for a block to stand before, and are never told if none comes.
   */
  sealed(thought: Sealed): void {
    const segment: Segment = { ...thought, ended: true, waiting: [] };
    if (this.#spoken) this.#late.push(segment);
    else {
      this.#append(segment);
      this.#advance();
    }
  }

  /** The proof of what comes next, in thoughts of its own without words. */
  proof(signature: string): void {
    this.#append({ kind: "thinking", signature, ended: true, waiting: [] });
    this.#advance();
  }

  /** A citation of the text at hand. */
  cite(citation: Record<string, unknown>): void {
    this.#add(this.#last("text"), { value: { type: "citations_delta", citation } });
  }

  /** A block that comes whole. */
  whole(block: Record<string, unknown>): void {
    this.#append({ kind: "whole", block, ended: false, waiting: [] });
  }

  /** More of the last block that came so. */
  delta(value: Record<string, unknown>): void {
    const last = this.#segments[this.#segments.length - 1];
    if (last?.kind === "whole") this.#add(last, { value });
  }

  openCall(index: number, call: CallHead): void {
    this.endCall(index);
    const segment: Segment = { kind: "call", index, call, ended: false, waiting: [] };
    this.#calls.set(index, segment);
    this.#append(segment);
  }

  callText(index: number, text: string): void {
    const segment = this.#calls.get(index);
    if (segment && text !== "") this.#add(segment, { delta: text });
  }

  endCall(index: number): void {
    const segment = this.#calls.get(index);
    if (!segment) return;
    this.#calls.delete(index);
    segment.ended = true;
    this.#advance();
  }

  /** The answer is over: all that waits is told, but for sealed thoughts that nothing follows. */
  end(): void {
    this.#late = [];
    for (const segment of this.#segments) segment.ended = true;
    this.#calls.clear();
    this.#advance();
  }

  #last(kind: "text" | "thinking"): Segment {
    const last = this.#segments[this.#segments.length - 1];
    if (last?.kind === kind && !last.ended) return last;
    const segment: Segment =
      kind === "text" ? { kind, ended: false, waiting: [] } : { kind, signature: null, ended: false, waiting: [] };
    this.#append(segment);
    return segment;
  }

  #append(segment: Segment): void {
    const late = this.#late;
    this.#late = [];
    for (const one of late) this.#append(one);
    if (segment.kind === "text") this.#spoken = true;
    else if (segment.kind === "call") this.#spoken = false;
    const last = this.#segments[this.#segments.length - 1];
    // Only a call goes on behind what comes after it.
    if (last && last.kind !== "call") last.ended = true;
    this.#segments.push(segment);
    if (this.#segments.length === 1) this.#say(segment, "open");
    else this.#advance();
  }

  #add(segment: Segment, said: { delta: string } | { value: Record<string, unknown> }): void {
    if (segment === this.#segments[0]) this.#say(segment, said);
    else segment.waiting.push(said);
  }

  /** Closes what is over at the head, and tells what waited behind it. */
  #advance(): void {
    let done = 0;
    for (let head = this.#segments[0]; head?.ended; head = this.#segments[done]) {
      this.#say(head, "close");
      const next = this.#segments[++done];
      if (!next) break;
      this.#say(next, "open");
      for (const said of next.waiting) this.#say(next, said);
      next.waiting = [];
    }
    if (done > 0) this.#segments = this.#segments.slice(done);
  }
}
