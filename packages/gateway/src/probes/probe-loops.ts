import type { ErrorClass } from "@sluicegate/contract";
import { Cancel, type CancelReason } from "../core/cancel.ts";
import type { Clock, Timer } from "../core/clock.ts";
import type { Random } from "../core/random.ts";

/** What one probe says. `unclear`: the server is there, and whether its model answers was not found out. */
export interface ProbeOutcome {
  result: "ready" | "failing" | "unclear";
  /** Null: a whole answer came. */
  errorClass: ErrorClass | null;
  latencyMs: number;
}

/** How a deployment stands by its probes. */
export interface ProbeStanding {
  state: "unknown" | "ready" | "failing";
  /** Since when, epoch ms. */
  since: number;
  /** Of the last probe that came to an end; null: it went well, or there was none. */
  lastErrorClass: ErrorClass | null;
  /** Of the same; null: there was none. */
  lastLatencyMs: number | null;
}

/** Something that is to be probed. */
export interface ProbeTarget {
  /** Name of the deployment. */
  deployment: string;
  /** As long as it stays the same, what has been learned of it holds. */
  key: string;
  everyMs: number;
  /** Failed probes in a row that make it a failing one. */
  failures: number;
  /** Probes once. Null: called off, or not to be done now. Ends soon after a cancellation. */
  probe(cancel: Cancel): Promise<ProbeOutcome | null>;
}

/** What loops need of the rest. */
export interface LoopParts {
  clock: Clock;
  random: Random;
  /** Probes running at once. */
  atOnce: number;
  /** Told after each probe; `before` is the state that it ended, null while that holds. */
  told(deployment: string, outcome: ProbeOutcome, before: ProbeStanding["state"] | null): void;
  /** A probe could not even be made. */
  fault(deployment: string, cause: unknown): void;
}

/** The first probe comes within this, or within one interval, ms. */
const FIRST_WITHIN_MS = 1_000;
/** Intervals are up to so much shorter or longer, so that no two servers and no two replicas stay in step. */
const JITTER = 0.1;

/**
 * One loop a deployment, each probe after the end of the one before it, and few of all of them at once. An interval counts from
 * the start of a probe.
 */
export class ProbeLoops {
  readonly #parts: LoopParts;
  readonly #loops = new Map<string, Loop>();
  /** Those whose time has come, while too many are running. */
  readonly #due = new Set<Loop>();
  readonly #running = new Set<Promise<void>>();
  #closed = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
  }

  /** From now on these, and no others. One whose key is unchanged goes on as it is, in its rhythm. */
  follow(targets: readonly ProbeTarget[]): void {
    if (this.#closed) return;
    const wanted = new Map(targets.map((target) => [target.deployment, target]));
    for (const [name, loop] of this.#loops) {
      const target = wanted.get(name);
      if (target?.key === loop.target.key) loop.target = target;
      else this.#end(loop, "superseded");
    }
    for (const target of targets) if (!this.#loops.has(target.deployment)) this.#begin(target);
  }

  /** How everything that is probed stands, by deployment. */
  standings(): ReadonlyMap<string, ProbeStanding> {
    return new Map([...this.#loops].map(([name, { standing }]) => [name, { ...standing }]));
  }

  /** Ends all of them. Resolves when the last probe is over and recorded. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const loop of this.#loops.values()) this.#end(loop, "shutdown");
    await Promise.all(this.#running);
  }

  #begin(target: ProbeTarget): void {
    const { clock, random } = this.#parts;
    const loop = new Loop(target, clock.now());
    this.#loops.set(target.deployment, loop);
    this.#wait(loop, random.float() * Math.min(FIRST_WITHIN_MS, target.everyMs));
  }

  #end(loop: Loop, reason: CancelReason): void {
    this.#loops.delete(loop.target.deployment);
    this.#due.delete(loop);
    loop.timer?.cancel();
    loop.cancel.cancel(reason);
  }

  #wait(loop: Loop, ms: number): void {
    loop.timer = this.#parts.clock.after(ms, () => {
      this.#due.add(loop);
      this.#startDue();
    });
  }

  #startDue(): void {
    for (const loop of this.#due) {
      if (this.#running.size >= this.#parts.atOnce) return;
      this.#due.delete(loop);
      const run: Promise<void> = this.#run(loop).finally(() => {
        this.#running.delete(run);
        this.#startDue();
      });
      this.#running.add(run);
    }
  }

  async #run(loop: Loop): Promise<void> {
    const { clock, random, fault } = this.#parts;
    const startedAt = clock.monotonic();
    const { target, cancel } = loop;
    const outcome = await target.probe(cancel).catch((cause: unknown) => {
      fault(target.deployment, cause);
      return null;
    });
    if (cancel.cancelled) return;
    if (outcome) this.#learn(loop, outcome);
    const interval = loop.target.everyMs * (1 + JITTER * (2 * random.float() - 1));
    this.#wait(loop, Math.max(0, startedAt + interval - clock.monotonic()));
  }

  #learn(loop: Loop, outcome: ProbeOutcome): void {
    const before = loop.standing.state;
    loop.learn(outcome, this.#parts.clock.now());
    this.#parts.told(loop.target.deployment, outcome, before === loop.standing.state ? null : before);
  }
}

/** One of them. */
class Loop {
  target: ProbeTarget;
  readonly cancel = new Cancel();
  timer: Timer | null = null;
  readonly standing: ProbeStanding;
  #failed = 0;

  constructor(target: ProbeTarget, now: number) {
    this.target = target;
    this.standing = { state: "unknown", since: now, lastErrorClass: null, lastLatencyMs: null };
  }

  learn({ result, errorClass, latencyMs }: ProbeOutcome, now: number): void {
    const { standing } = this;
    standing.lastErrorClass = errorClass;
    standing.lastLatencyMs = latencyMs;
    if (result === "unclear") return;
    this.#failed = result === "failing" ? this.#failed + 1 : 0;
    if (result === "failing" && this.#failed < this.target.failures) return;
    if (standing.state === result) return;
    standing.state = result;
    standing.since = now;
  }
}
