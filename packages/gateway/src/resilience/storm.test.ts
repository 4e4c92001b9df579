import type { ErrorClass } from "@sluicegate/contract";
import { describe, expect, it } from "vitest";
import { chance, now, oneBoard, outcome } from "../../test/support/health-boards.ts";
import type { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { HealthBoard } from "./health-board.ts";
import { nextStep } from "./retry.ts";
import { RetryBudget } from "./retry-budget.ts";
import { type HopStanding, whenNone } from "./when-none.ts";

const RETRIES = { attempts: 2, baseMs: 500, capMs: 8_000, budget: 0.2 };
const STORM_MS = 120_000;

/** What a deployment answers: with what, and after how long. */
type Answer = (atMs: number) => { kind: ErrorClass | null; retryAfterMs?: number; latencyMs: number };

const good: Answer = () => ({ kind: null, latencyMs: 400 });

/** Where a request stands. */
interface Place {
  hop: number;
  here: number;
  total: number;
  waited: boolean;
  deadline: number;
}

/** Clients that send a request every so often along a chain, as the attempt loop does, in virtual time. */
class Traffic {
  requests = 0;
  served = 0;
  refused = 0;
  readonly calls: Record<string, number> = {};
  readonly #clock: VirtualClock;
  readonly #board: HealthBoard;
  readonly #chain: readonly (readonly [string, Answer])[];
  readonly #budget: RetryBudget;
  readonly #random = chance(7);

  constructor(clock: VirtualClock, board: HealthBoard, chain: readonly (readonly [string, Answer])[]) {
    this.#clock = clock;
    this.#board = board;
    this.#chain = chain;
    this.#budget = new RetryBudget(clock);
  }

  get total(): number {
    return Object.values(this.calls).reduce((sum, calls) => sum + calls, 0);
  }

  run(everyMs: number): this {
    const arrive = (): void => {
      if (this.#clock.monotonic() >= STORM_MS) return;
      this.requests++;
      this.#enter({ hop: 0, here: 0, total: 0, waited: false, deadline: this.#clock.monotonic() + 60_000 }, []);
      this.#clock.after(everyMs, arrive);
    };
    arrive();
    this.#clock.advance(STORM_MS + 120_000);
    return this;
  }

  #enter(at: Place, passed: HopStanding[]): void {
    const [key, answer] = this.#chain[at.hop] ?? ["", good];
    const permit = now(this.#board.permit(key));
    if (!permit.ok) {
      passed.push({ why: permit.why, retryAtMs: permit.retryAtMs, class: permit.class, errorRate: 1 });
      if (at.hop + 1 < this.#chain.length) return this.#enter({ ...at, hop: at.hop + 1, here: 0 }, passed);
      return this.#none(at, passed);
    }
    if (at.here === 0) this.#budget.request(key);
    this.calls[key] = (this.calls[key] ?? 0) + 1;
    const { kind, retryAfterMs = null, latencyMs } = answer(this.#clock.monotonic());
    this.#clock.after(latencyMs, () => {
      permit.done(outcome(kind, { retryAfterMs, latencyMs }));
      if (kind === null) this.served++;
      else this.#failed({ ...at, here: at.here + 1, total: at.total + 1 }, key, kind, retryAfterMs);
    });
  }

  #failed(at: Place, key: string, kind: ErrorClass, retryAfterMs: number | null): void {
    const step = nextStep({
      failure: { class: kind, message: "", httpStatus: 429, retryAfterMs, ambiguous: false },
      ...{ retries: RETRIES, attemptsHere: at.here, attemptsTotal: at.total, fallback: true },
      ...{ sideEffecting: false, guardsToolResults: false, random: this.#random.float() },
      othersLeft: at.hop + 1 < this.#chain.length,
      remainingMs: at.deadline - this.#clock.monotonic(),
      budgetAllows: () => this.#budget.take(key, RETRIES.budget),
    });
    if (step.do === "stop") this.refused++;
    else if (step.do === "move_on") this.#enter({ ...at, hop: at.hop + 1, here: 0 }, []);
    else this.#clock.after(step.waitMs, () => this.#enter(at, []));
  }

  #none(at: Place, hops: HopStanding[]): void {
    const decision = whenNone({
      ...{ hops, settings: { whenAllOpen: "refuse", whenAllCooling: "wait" }, nowMs: this.#clock.now() },
      ...{ remainingMs: at.deadline - this.#clock.monotonic(), waited: at.waited, random: this.#random.float() },
      random: this.#random.float(),
    });
    if (decision.do === "wait") {
      this.#clock.after(decision.ms, () => this.#enter({ ...at, hop: 0, here: 0, waited: true }, []));
    } else this.refused++;
  }
}

const limited = (retryAfterMs?: number): Answer => {
  const answer = { kind: "rate_limited" as const, latencyMs: 200 };
  return () => (retryAfterMs === undefined ? answer : { ...answer, retryAfterMs });
};

describe("two minutes of 429", () => {
  it.each([
    ["that say nothing", limited()],
    ["that ask for 5 s", limited(5_000)],
    ["that ask for nothing", limited(0)],
  ])("%s cost at most 1.2 calls a request, and no request its answer", (_name, primary) => {
    const { clock, board } = oneBoard();
    const traffic = new Traffic(clock, board, [
      ["a", primary],
      ["b", good],
    ]).run(100);
    expect(traffic.requests).toBe(1_200);
    expect(traffic.served).toBe(1_200);
    expect(traffic.total).toBeLessThanOrEqual(1.2 * traffic.requests);
    expect(board.read("a")).toMatchObject({ inFlight: 0, circuit: "closed" });
  });

  it.each([
    [
      "everywhere",
      [
        ["a", limited()],
        ["b", limited()],
      ] as const,
    ],
    ["at the only deployment", [["a", limited(2_000)]] as const],
    ["at the only deployment, without a word", [["a", limited()]] as const],
  ])("%s cost no more", (_name, chain) => {
    const { clock, board } = oneBoard();
    const traffic = new Traffic(clock, board, chain).run(50);
    expect(traffic.refused).toBe(traffic.requests);
    expect(traffic.total).toBeLessThanOrEqual(1.2 * traffic.requests);
    expect(board.read("a").inFlight).toBe(0);
  });
});

describe("two minutes of another fault", () => {
  it("at the only deployment cost a call a probe, and end with it", () => {
    const { clock, board } = oneBoard();
    const dead: Answer = (atMs) => ({ kind: atMs < 60_000 ? "provider_error" : null, latencyMs: 50 });
    const traffic = new Traffic(clock, board, [["a", dead]]).run(100);
    // 600 requests in the bad minute: five failures, what was on its way with them, and two probes.
    expect((traffic.calls.a ?? 0) - traffic.served).toBeLessThan(20);
    expect(traffic.served).toBeGreaterThan(550);
    expect(board.read("a").circuit).toBe("closed");
  });

  it("at a deployment that flaps lose no request to it", () => {
    const { clock, board } = oneBoard();
    const flapping: Answer = (atMs) => ({ kind: atMs % 20_000 < 10_000 ? "overloaded" : null, latencyMs: 100 });
    const traffic = new Traffic(clock, board, [
      ["a", flapping],
      ["b", good],
    ]).run(100);
    expect(traffic.served).toBe(traffic.requests);
    expect(traffic.total).toBeLessThanOrEqual(1.2 * traffic.requests);
  });
});
