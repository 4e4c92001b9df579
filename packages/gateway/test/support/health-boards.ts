import type { ErrorClass } from "@sluicegate/contract";
import type { Clock } from "../../src/core/clock.ts";
import type { Random } from "../../src/core/random.ts";
import { HealthBoard } from "../../src/resilience/health-board.ts";
import type { CallOutcome, NoPermit, Permit } from "../../src/resilience/permit.ts";
import { type BoardRecord, LONE_BOARD, type SharedBoard } from "../../src/resilience/shared-board.ts";
import { seeded } from "./seeded.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** The defaults of the config. */
export const BREAKER = {
  ...{ consecutive: 5, errorRate: 0.5, minRequests: 5, windowMs: 60_000 },
  ...{ latencyFactor: 3, recoveryMs: 30_000, probes: 1 },
} as const;

/** Chance that a seed repeats. */
export function chance(seed: number): Random {
  const { float, int } = seeded(seed);
  return { float, bytes: (count) => Uint8Array.from({ length: count }, () => int(0, 255)) };
}

/** A call that came back with `kind`; null: well. */
export function outcome(kind: ErrorClass | null, change: Partial<CallOutcome> = {}): CallOutcome {
  return { class: kind, retryAfterMs: null, ttftMs: null, latencyMs: 100, ...change };
}

/** One board alone, following `a` and `b`. `spanMs`: the longest window that is read. */
export function oneBoard(config: Partial<typeof BREAKER> | Record<string, number> = {}, spanMs = 0) {
  const clock = new VirtualClock();
  const board = new HealthBoard({ clock, random: chance(1), shared: LONE_BOARD });
  const breaker = { ...BREAKER, ...config };
  board.follow(
    new Map([
      ["a", breaker],
      ["b", breaker],
    ]),
    spanMs,
  );
  return { clock, board };
}

/** A permit that nobody has to be waited for. */
export function now(asked: Permit | NoPermit | Promise<Permit | NoPermit>): Permit | NoPermit {
  if (asked instanceof Promise) throw new Error("an answer at once was expected");
  return asked;
}

/** One call: asks, and ends at once. What it was refused for, else null. */
export function call(board: HealthBoard, kind: ErrorClass | null, change: Partial<CallOutcome> = {}, key = "a") {
  const permit = now(board.permit(key));
  if (!permit.ok) return permit.why;
  permit.done(outcome(kind, change));
  return null;
}

/**
 * What replicas share, in memory: messages arrive in microtasks, the higher version stays, nothing arrives while it is down,
 * and each replica tells what it knows when it is back.
 */
class SharedMemory {
  readonly records = new Map<string, BoardRecord>();
  readonly leases = new Map<string, { holder: number; until: number }>();
  readonly #clock: Clock;
  readonly #listeners = new Map<number, (key: string, record: BoardRecord | null) => void>();
  readonly #known: Map<string, BoardRecord>[] = [];
  #down = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get down(): boolean {
    return this.#down;
  }

  set down(down: boolean) {
    this.#down = down;
    if (down) return;
    for (const known of this.#known) for (const [key, record] of known) this.#tell(key, record);
    // Who was away has missed what the others said.
    for (const listener of this.#listeners.values()) {
      for (const [key, record] of this.records) queueMicrotask(() => listener(key, record));
    }
  }

  /** What one more replica sees of it. */
  replica(): SharedBoard {
    const known = new Map<string, BoardRecord>();
    const id = this.#known.push(known) - 1;
    return {
      publish: (key, record) => {
        // As it goes over the wire.
        const sent = JSON.parse(JSON.stringify(record)) as BoardRecord;
        known.set(key, sent);
        if (!this.#down) this.#tell(key, sent);
      },
      listen: (fn) => {
        this.#listeners.set(id, fn);
        for (const [key, record] of this.records) queueMicrotask(() => fn(key, record));
        return () => this.#listeners.delete(id);
      },
      lease: async (name, ttlMs) => {
        if (this.#down) throw new Error("the store is gone");
        const held = this.leases.get(name);
        if (held && held.holder !== id && held.until > this.#clock.monotonic()) return false;
        this.leases.set(name, { holder: id, until: this.#clock.monotonic() + ttlMs });
        return true;
      },
      release: (name) => {
        if (!this.#down && this.leases.get(name)?.holder === id) this.leases.delete(name);
      },
    };
  }

  #tell(key: string, record: BoardRecord): void {
    if (record.version <= (this.records.get(key)?.version ?? 0)) return;
    this.records.set(key, record);
    for (const listener of this.#listeners.values()) queueMicrotask(() => listener(key, record));
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function turns(count = 12): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

/** `count` replicas that follow `a` and `b` and share one memory. */
export function replicas(count: number, config: Record<string, number> = {}) {
  const clock = new VirtualClock();
  const shared = new SharedMemory(clock);
  const join = (seed: number): HealthBoard => {
    const board = new HealthBoard({ clock, random: chance(seed), shared: shared.replica() });
    const breaker = { ...BREAKER, ...config };
    board.follow(
      new Map([
        ["a", breaker],
        ["b", breaker],
      ]),
    );
    return board;
  };
  const boards = Array.from({ length: count }, (_, index) => join(index + 1));
  return { clock, shared, boards, join };
}
