import type { Cancel } from "../core/cancel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { Priority } from "./shedding.ts";

/** Places can come free where nobody here hears of it (another replica): then the head looks again after so long, ms. */
const LOOK_MS_MIN = 20;
const LOOK_MS_MAX = 1_000;
const RANK: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 };

/** What a try for a place comes to; `retryAfterMs`: when there may be one; `final`: this request does not wait for it. */
export type Tried<T> = { ok: true; value: T } | { ok: false; retryAfterMs: number; final?: boolean };

/** How waiting ended. */
export type Waited<T> =
  | { ok: true; value: T }
  | { ok: false; why: "full" | "pushed_out" | "deadline" | "cancelled" | "refused" };

/** What one request brings to the queue. */
export interface Ticket<T> {
  priority: Priority;
  /** Monotonic ms at which waiting ends. */
  until: number;
  /** Requests that may wait for this key at once. */
  maxDepth: number;
  /** Takes a place if there is one. Called only while this request is the first in line, never twice at once. */
  take(): Tried<T> | Promise<Tried<T>>;
  /** Gives back a place that came when nobody waited for it any more. */
  giveBack(value: T): void;
}

interface Waiter {
  rank: number;
  take(): Tried<unknown> | Promise<Tried<unknown>>;
  giveBack(value: unknown): void;
  /** Ends the wait; later calls do nothing. */
  end(result: Waited<unknown> | { error: unknown }): void;
  over: boolean;
}

interface Line {
  /** By rank, then by arrival. */
  waiters: Waiter[];
  /** A `take` is on its way. */
  trying: boolean;
  /** Somebody was woken meanwhile: look again. */
  again: boolean;
  look: Timer | null;
}

/**
 * Where requests wait for a place at a deployment that is full (RES-9): high priority before normal before low, first come
 * first served within one, each no longer than its deadline. One line a key, bounded by what its tickets say.
 */
export class WaitingRoom {
  readonly #clock: Clock;
  readonly #lines = new Map<string, Line>();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Requests waiting for `key`; who comes while there are some has to get in line. */
  depth(key: string): number {
    return this.#lines.get(key)?.waiters.length ?? 0;
  }

  /** Requests waiting for anything. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits in the line of `key` until `take` gets a place. A full line is a refusal, unless an urgent request can push out the
   * newest low one. `retryAfterMs`: when a first look is worth it. Rejects with what `take` throws.
   */
  wait<T>(key: string, ticket: Ticket<T>, retryAfterMs: number, cancel: Cancel): Promise<Waited<T>> {
    if (cancel.cancelled) return Promise.resolve({ ok: false, why: "cancelled" });
    const leftMs = ticket.until - this.#clock.monotonic();
    if (leftMs <= 0) return Promise.resolve({ ok: false, why: "deadline" });
    const line = this.#lineOf(key);
    if (line.waiters.length >= ticket.maxDepth && !pushOut(line, ticket.priority)) {
      this.#close(key, line);
      return Promise.resolve({ ok: false, why: "full" });
    }
    return new Promise((resolve, reject) => {
      let forget = (): void => {};
      const timer = this.#clock.after(leftMs, () => waiter.end({ ok: false, why: "deadline" }));
      const waiter: Waiter = {
        rank: RANK[ticket.priority],
        take: () => ticket.take(),
        giveBack: (value) => ticket.giveBack(value as T),
        over: false,
        end: (result) => {
          if (waiter.over) return;
          waiter.over = true;
          timer.cancel();
          forget();
          this.#leave(key, line, waiter);
          if ("error" in result) reject(result.error);
          else resolve(result as Waited<T>);
        },
      };
      const behind = line.waiters.findIndex((other) => other.rank > waiter.rank);
      line.waiters.splice(behind === -1 ? line.waiters.length : behind, 0, waiter);
      this.#waiting++;
      forget = cancel.onCancel(() => waiter.end({ ok: false, why: "cancelled" }));
      this.#lookAfter(key, line, retryAfterMs);
    });
  }

  /** A place at `key` may have come free: the first in line looks. Cheap when nobody waits. */
  wake(key: string): void {
    const line = this.#lines.get(key);
    if (line) this.#try(key, line);
  }

  #try(key: string, line: Line): void {
    if (line.trying) {
      line.again = true;
      return;
    }
    // In a loop, not by recursion: many places may come free at once.
    for (let head = line.waiters[0]; head; head = line.waiters[0]) {
      let tried: Tried<unknown> | Promise<Tried<unknown>>;
      line.trying = true;
      try {
        tried = head.take();
      } catch (error) {
        line.trying = false;
        head.end({ error });
        continue;
      }
      if (tried instanceof Promise) {
        this.#hear(key, line, head, tried);
        return;
      }
      line.trying = false;
      if (!this.#settle(key, line, head, tried)) return;
    }
    this.#close(key, line);
  }

  #hear(key: string, line: Line, head: Waiter, tried: Promise<Tried<unknown>>): void {
    const next = (go: boolean): void => {
      line.trying = false;
      const woken = line.again;
      line.again = false;
      if (go || woken) this.#try(key, line);
      else this.#close(key, line);
    };
    tried.then(
      (result) => next(this.#settle(key, line, head, result)),
      (error: unknown) => {
        head.end({ error });
        next(true);
      },
    );
  }

  /** Whether the next one may try as well. */
  #settle(key: string, line: Line, head: Waiter, tried: Tried<unknown>): boolean {
    if (!tried.ok) {
      if (tried.final) head.end({ ok: false, why: "refused" });
      this.#lookAfter(key, line, tried.retryAfterMs);
      return head.over;
    }
    // Its wait ended while the place was on its way: the place is for the next one.
    if (head.over) head.giveBack(tried.value);
    else head.end(tried);
    return true;
  }

  #lookAfter(key: string, line: Line, ms: number): void {
    if (line.look || line.waiters.length === 0) return;
    line.look = this.#clock.after(Math.min(LOOK_MS_MAX, Math.max(LOOK_MS_MIN, ms)), () => {
      line.look = null;
      this.#try(key, line);
    });
  }

  #lineOf(key: string): Line {
    let line = this.#lines.get(key);
    if (!line) {
      line = { waiters: [], trying: false, again: false, look: null };
      this.#lines.set(key, line);
    }
    return line;
  }

  #leave(key: string, line: Line, waiter: Waiter): void {
    const at = line.waiters.indexOf(waiter);
    if (at === -1) return;
    line.waiters.splice(at, 1);
    this.#waiting--;
    this.#close(key, line);
  }

  /** Forgets a line that nobody stands in. */
  #close(key: string, line: Line): void {
    if (line.waiters.length > 0 || line.trying) return;
    line.look?.cancel();
    line.look = null;
    if (this.#lines.get(key) === line) this.#lines.delete(key);
  }
}

/** Makes room for an urgent request at the cost of the newest low one. */
function pushOut(line: Line, priority: Priority): boolean {
  const last = line.waiters.at(-1);
  if (priority !== "high" || last?.rank !== RANK.low) return false;
  last.end({ ok: false, why: "pushed_out" });
  return true;
}
