import type { Clock } from "../core/clock.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { SegmentTail } from "./segment-tail.ts";
import type { Position } from "./segments.ts";
import { lineHead } from "./spool-line.ts";
import type { LedgerStore, Rejected } from "./store.ts";

interface Held {
  line: string;
  start: Position;
  sinceMs: number;
}

/** What is about to go into the database, kept until it has: a failed step tries the same again. */
interface Stage {
  running: string[];
  settled: string[];
  feedback: string[];
  rejected: Rejected[];
  /** Admissions that wait from now on, and those that no longer do. */
  hold: Map<string, Held>;
  release: string[];
}

/** Moves a spool into the database. An admission waits a little, so that most requests are written once, when settled. */
export class Consumer {
  readonly #tail: SegmentTail;
  readonly #instance: string;
  readonly #clock: Clock;
  readonly #holdMs: number;
  readonly #held = new Map<string, Held>();
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
    return this.#position;
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
    for (const [requestId, held] of stage.hold) this.#held.set(requestId, held);
    this.#position = this.#held.values().next().value?.start ?? this.#tail.position;
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
    const stage: Stage = { running: [], settled: [], feedback: [], rejected: [], hold: new Map(), release: [] };
    for (const { text, start } of this.#tail.read()) {
      this.#lines++;
      const head = lineHead(text);
      if (!head) stage.rejected.push({ line: text, reason: "not a line of a spool" });
      else if (head.kind === "feedback") stage.feedback.push(text);
      else if (head.kind === "admission") stage.hold.set(head.requestId, { line: text, start, sinceMs: now });
      else {
        stage.settled.push(text);
        if (!stage.hold.delete(head.requestId)) stage.release.push(head.requestId);
      }
    }
    this.#releaseDue(stage, hurry, now);
    return this.#tail.position === before && stage.running.length === 0 ? null : stage;
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
        if (held === stage.hold) stage.hold.delete(requestId);
        else stage.release.push(requestId);
      }
    }
  }
}
