import type { Clock } from "../core/clock.ts";
import { ownText } from "../core/own-text.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { SegmentTail, TailLines } from "./segment-tail.ts";
import type { Position } from "./segments.ts";
import { lineHead, type Settled } from "./spool-line.ts";
import type { LedgerStore, Rejected } from "./store.ts";

/** An admission that waits, and where its line begins. */
interface Held extends Position {
  line: string;
  sinceMs: number;
}

/** What is about to go into the database, kept until it has: a failed step tries the same again. */
interface Stage {
  running: string[];
  settled: Settled[];
  feedback: string[];
  rejected: Rejected[];
  /** Admissions that wait from now on, and those that no longer do. */
  hold: Map<string, Held>;
  release: string[];
  /** Admissions among `running`, by request id. */
  shown: Map<string, string>;
  /** Requests that are settled with an admission which the database has. */
  over: string[];
}

/** Moves a spool into the database. An admission waits a little, so that most requests are written once, when settled. */
export class Consumer {
  readonly #tail: SegmentTail;
  readonly #instance: string;
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #held = new Map<string, Held>();
  /** The admissions of running rows, oldest first: what settles one is whole without the database, which may be a new one by then. */
  readonly #shown = new Map<string, string>();
  #stage: Stage | null = null;
  #position: Position;
  #lines = 0;

  /** `holdMs` may be Infinity: then only `takeHeld` gets admissions that stay unsettled. */
  constructor(tail: SegmentTail, instance: string, clock: Clock, holdMs: number) {
    this.#tail = tail;
    this.#instance = instance;
    this.#clock = clock;
    this.#holdMs = holdMs;
    this.#position = tail.position;
  }

  /** All lines before this place are in the database. */
  get position(): Position {
    const { segment, bytes, lines } = this.#position;
    return { segment, bytes, lines };
  }

  /** Lines taken from the spool so far. */
  get lines(): number {
    return this.#lines;
  }

  /** How long until the longest waiting admission is due, ms; null when none waits. */
  dueInMs(): number | null {
    const first = this.#held.values().next().value;
    return first ? Math.max(0, first.sinceMs + this.#holdMs - this.#clock.monotonic()) : null;
  }

  /**
   * Applies the next batch. Null when there was nothing to do, else the lines that had to be left out.
   * `hurry`: no admission waits. Throws when the database cannot take it; the next call tries the same batch again.
   */
  step(store: LedgerStore, hurry: boolean): Rejected[] | null {
    this.#stage ??= this.#prepare(hurry);
    const stage = this.#stage;
    if (!stage) return null;
    const { running, settled, feedback } = stage;
    const rejected = store.apply({ instance: this.#instance, running, settled, feedback });
    for (const requestId of stage.release) this.#held.delete(requestId);
    for (const [requestId, held] of stage.hold) this.#hold(requestId, held);
    for (const requestId of stage.over) this.#shown.delete(requestId);
    for (const [requestId, line] of stage.shown) this.#show(requestId, line);
    this.#position = this.#held.values().next().value ?? this.#tail.position;
    this.#stage = null;
    return [...stage.rejected, ...rejected];
  }

  /** The admissions that still wait, for one who knows that they will never be settled. */
  takeHeld(): string[] {
    return [...this.#held.values()].map((held) => held.line);
  }

  #prepare(hurry: boolean): Stage | null {
    const now = this.#clock.monotonic();
    const before = this.#tail.position;
    const stage = anEmptyStage();
    const read = this.#tail.read();
    if (read) this.#sort(read, stage, now);
    this.#releaseDue(stage, hurry, now);
    return this.#tail.position === before && stage.running.length === 0 ? null : stage;
  }

  #sort({ segment, linesBefore, texts, starts }: TailLines, stage: Stage, now: number): void {
    this.#lines += texts.length;
    for (let index = 0; index < texts.length; index++) {
      const line = texts[index] as string;
      const head = lineHead(line);
      if (!head) {
        stage.rejected.push({ line, reason: "not a line of a spool" });
      } else if (head.kind === "admission") {
        const bytes = starts[index] ?? 0;
        stage.hold.set(head.requestId, { line, sinceMs: now, segment, bytes, lines: linesBefore + index });
      } else if (head.kind === "settlement") {
        const { requestId } = head;
        const held = stage.hold.get(requestId) ?? this.#held.get(requestId);
        const shown = held ? undefined : this.#shown.get(requestId);
        stage.settled.push({ line, admission: held?.line ?? shown ?? null });
        if (shown !== undefined) stage.over.push(requestId);
        if (!stage.hold.delete(requestId)) stage.release.push(requestId);
      } else {
        stage.feedback.push(line);
      }
    }
  }

  #hold(requestId: string, held: Held): void {
    const { line, sinceMs, segment, bytes, lines } = held;
    this.#held.set(ownText(requestId), { line: ownText(line), sinceMs, segment, bytes, lines });
  }

  #show(requestId: string, line: string): void {
    this.#shown.set(ownText(requestId), ownText(line));
    if (this.#shown.size <= LEDGER_LIMITS.heldMax) return;
    const [oldest] = this.#shown.keys();
    if (oldest !== undefined) this.#shown.delete(oldest);
  }

  #releaseDue(stage: Stage, hurry: boolean, now: number): void {
    const settled = new Set(stage.release);
    let excess = this.#held.size + stage.hold.size - LEDGER_LIMITS.heldMax;
    for (const held of [this.#held, stage.hold]) {
      for (const [requestId, { line, sinceMs }] of held) {
        if (!hurry && excess <= 0 && now - sinceMs < this.#holdMs) return;
        excess--;
        if (settled.has(requestId)) continue;
        stage.running.push(line);
        stage.shown.set(requestId, line);
        if (held === stage.hold) stage.hold.delete(requestId);
        else stage.release.push(requestId);
      }
    }
  }
}

function anEmptyStage(): Stage {
  return {
    running: [],
    settled: [],
    feedback: [],
    rejected: [],
    hold: new Map(),
    release: [],
    shown: new Map(),
    over: [],
  };
}
