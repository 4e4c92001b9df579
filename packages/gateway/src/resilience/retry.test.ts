import { ERROR_CLASSES, type ErrorClass } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CLASSES } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { type NextStep, nextStep, type RetryFacts } from "./retry.ts";

const RETRIES = { attempts: 2, baseMs: 500, capMs: 8_000, budget: 0.2 };

function facts(
  kind: ErrorClass,
  change: Partial<RetryFacts> = {},
  failure: Partial<RetryFacts["failure"]> = {},
): RetryFacts {
  return {
    failure: { class: kind, message: "", httpStatus: null, retryAfterMs: null, ambiguous: false, ...failure },
    retries: RETRIES,
    attemptsHere: 1,
    attemptsTotal: 1,
    othersLeft: true,
    fallback: true,
    sideEffecting: false,
    guardsToolResults: false,
    remainingMs: 60_000,
    budgetAllows: () => true,
    random: 0.5,
    ...change,
  };
}

const word = (step: NextStep): string => (step.do === "retry" ? `retry ${step.waitMs}` : step.do);

describe("after a failure", () => {
  // Ruling 3. Second column: another deployment waits. Third: this is the last one.
  it.each<[ErrorClass, string, string]>([
    ["rate_limited", "move_on", "retry 250"],
    ["overloaded", "move_on", "retry 250"],
    ["timeout", "move_on", "retry 250"],
    ["quota_exhausted", "move_on", "stop"],
    ["auth_failed", "move_on", "stop"],
    ["model_not_found", "move_on", "stop"],
    ["connection_failed", "retry 250", "retry 250"],
    ["provider_error", "retry 250", "retry 250"],
    ["invalid_response", "retry 250", "retry 250"],
    ["context_overflow", "stop", "stop"],
    ["content_filtered", "stop", "stop"],
    ["bad_request", "stop", "stop"],
    ["cancelled", "stop", "stop"],
  ])("%s: with others %s, alone %s", (kind, withOthers, alone) => {
    expect(word(nextStep(facts(kind)))).toBe(withOthers);
    expect(word(nextStep(facts(kind, { othersLeft: false })))).toBe(alone);
    // Falling over forbidden is the same as nowhere to go.
    expect(word(nextStep(facts(kind, { fallback: false })))).toBe(alone);
  });

  it("knows every class", () => {
    for (const kind of ERROR_CLASSES) expect(CLASSES[kind]).toBeDefined();
  });

  it("moves on once a deployment has had its attempts, and stops when none is left", () => {
    expect(nextStep(facts("provider_error", { attemptsHere: 2, attemptsTotal: 2 }))).toEqual({ do: "move_on" });
    expect(nextStep(facts("provider_error", { attemptsHere: 2, attemptsTotal: 2, othersLeft: false }))).toEqual({
      do: "stop",
    });
  });

  it("tries once more in place while another waits, however often `retries` allows", () => {
    const retries = { ...RETRIES, attempts: 5 };
    expect(nextStep(facts("provider_error", { retries })).do).toBe("retry");
    expect(nextStep(facts("provider_error", { retries, attemptsHere: 2 })).do).toBe("move_on");
    expect(nextStep(facts("provider_error", { retries, attemptsHere: 2, othersLeft: false })).do).toBe("retry");
  });

  it("takes an overflow only to where there is more room, and only where the route lets it", () => {
    const room = { largerWindowLeft: true };
    expect(nextStep(facts("context_overflow", room))).toEqual({ do: "move_on" });
    expect(nextStep(facts("context_overflow", { largerWindowLeft: false }))).toEqual({ do: "stop" });
    expect(nextStep(facts("context_overflow", { ...room, fallback: false }))).toEqual({ do: "stop" });
    expect(nextStep(facts("context_overflow", { ...room, sideEffecting: true }))).toEqual({ do: "stop" });
    // Room elsewhere helps nobody else.
    for (const kind of ["content_filtered", "bad_request", "cancelled"] as const) {
      expect(nextStep(facts(kind, room))).toEqual({ do: "stop" });
    }
    expect(nextStep(facts("rate_limited", { ...room, othersLeft: false })).do).toBe("retry");
  });

  it("does as the provider asks where that fits the deadline, and not otherwise", () => {
    const alone = { othersLeft: false };
    expect(nextStep(facts("rate_limited", alone, { retryAfterMs: 20_000 }))).toEqual({ do: "retry", waitMs: 20_000 });
    expect(nextStep(facts("rate_limited", alone, { retryAfterMs: 0 }))).toEqual({ do: "retry", waitMs: 0 });
    expect(nextStep(facts("rate_limited", alone, { retryAfterMs: 60_000 }))).toEqual({ do: "stop" });
    expect(nextStep(facts("rate_limited", { ...alone, remainingMs: 100 }, { retryAfterMs: 200 }))).toEqual({
      do: "stop",
    });
  });

  it("does not wait long here while another deployment waits", () => {
    expect(nextStep(facts("provider_error", {}, { retryAfterMs: 5_000 }))).toEqual({ do: "move_on" });
    expect(nextStep(facts("provider_error", {}, { retryAfterMs: 500 }))).toEqual({ do: "retry", waitMs: 500 });
  });

  it("asks the budget only for a retry it would make, and obeys it", () => {
    let asked = 0;
    const budgetAllows = (): boolean => {
      asked++;
      return false;
    };
    expect(nextStep(facts("provider_error", { budgetAllows }))).toEqual({ do: "move_on" });
    expect(nextStep(facts("provider_error", { budgetAllows, othersLeft: false }))).toEqual({ do: "stop" });
    expect(asked).toBe(2);
    nextStep(facts("rate_limited", { budgetAllows }));
    nextStep(facts("bad_request", { budgetAllows }));
    nextStep(facts("provider_error", { budgetAllows, attemptsHere: 2 }));
    nextStep(facts("provider_error", { budgetAllows }, { retryAfterMs: 1e9 }));
    nextStep(facts("provider_error", { budgetAllows, sideEffecting: true }));
    expect(asked).toBe(2);
  });

  it("with tool results in the conversation is not retried when the work may have been done (RES-3)", () => {
    const guarded = { guardsToolResults: true, othersLeft: false };
    expect(nextStep(facts("provider_error", guarded, { ambiguous: true }))).toEqual({ do: "stop" });
    expect(nextStep(facts("provider_error", guarded, { ambiguous: false })).do).toBe("retry");
    expect(nextStep(facts("provider_error", { ...guarded, guardsToolResults: false }, { ambiguous: true })).do).toBe(
      "retry",
    );
  });
});

const anyFacts: fc.Arbitrary<RetryFacts> = fc
  .record({
    kind: fc.constantFrom(...ERROR_CLASSES),
    retryAfterMs: fc.option(fc.nat(100_000), { nil: null }),
    ambiguous: fc.boolean(),
    attempts: fc.integer({ min: 1, max: 6 }),
    baseMs: fc.integer({ min: 1, max: 5_000 }),
    capMs: fc.integer({ min: 1, max: 20_000 }),
    attemptsHere: fc.integer({ min: 1, max: 8 }),
    attemptsTotal: fc.integer({ min: 1, max: 20 }),
    othersLeft: fc.boolean(),
    fallback: fc.boolean(),
    largerWindowLeft: fc.boolean(),
    sideEffecting: fc.boolean(),
    guardsToolResults: fc.boolean(),
    remainingMs: fc.integer({ min: -1_000, max: 60_000 }),
    budget: fc.boolean(),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  })
  .map(({ kind, retryAfterMs, ambiguous, attempts, baseMs, capMs, budget, ...rest }) =>
    facts(
      kind,
      { ...rest, retries: { attempts, baseMs, capMs, budget: 0.2 }, budgetAllows: () => budget },
      { retryAfterMs, ambiguous },
    ),
  );

describe("whatever the facts", () => {
  const holds = (claim: (given: RetryFacts, step: NextStep) => void): void =>
    fc.assert(
      fc.property(anyFacts, (given) => claim(given, nextStep(given))),
      { numRuns: 2_000 },
    );

  it("a side-effecting request is tried once", () => {
    holds((given, step) => {
      if (given.sideEffecting) expect(step.do).toBe("stop");
    });
  });

  it("a content filter's refusal is final, and so is every other that nobody can help", () => {
    holds(({ failure, largerWindowLeft }, step) => {
      if (["content_filtered", "bad_request", "cancelled"].includes(failure.class)) expect(step.do).toBe("stop");
      if (failure.class === "context_overflow" && !largerWindowLeft) expect(step.do).toBe("stop");
    });
  });

  it("no request goes over its attempts, here or in all, or past its deadline", () => {
    holds((given, step) => {
      if (given.attemptsTotal >= LIMITS.attemptsMax || given.remainingMs <= 0) expect(step.do).toBe("stop");
      if (step.do !== "retry") return;
      expect(given.attemptsHere).toBeLessThan(given.retries.attempts);
      expect(step.waitMs).toBeLessThan(given.remainingMs);
    });
  });

  it("it moves only where it may, and retries only what can be retried and the budget allows", () => {
    holds((given, step) => {
      const overflow = given.failure.class === "context_overflow";
      const elsewhere = overflow ? given.largerWindowLeft : given.othersLeft && CLASSES[given.failure.class].fallOver;
      if (step.do === "move_on") expect(given.fallback && elsewhere).toBe(true);
      if (step.do === "retry") expect(CLASSES[given.failure.class].retryable && given.budgetAllows()).toBe(true);
    });
  });

  it("the back-off is between nothing and base × 2^n, capped (full jitter)", () => {
    holds((given, step) => {
      if (step.do !== "retry" || given.failure.retryAfterMs !== null) return;
      const { baseMs, capMs } = given.retries;
      expect(step.waitMs).toBe(given.random * Math.min(capMs, baseMs * 2 ** (given.attemptsHere - 1)));
    });
  });

  it("a chain ends, and never calls more than its deployments × attempts", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.constantFrom(...ERROR_CLASSES), { minLength: 64, maxLength: 64 }),
        fc.boolean(),
        (deployments, attempts, failures, fallback) => {
          let hop = 0;
          let here = 0;
          let total = 0;
          for (;;) {
            here++;
            total++;
            const step = nextStep(
              facts(failures[total] ?? "provider_error", {
                retries: { ...RETRIES, attempts },
                attemptsHere: here,
                attemptsTotal: total,
                othersLeft: hop + 1 < deployments,
                fallback,
              }),
            );
            if (step.do === "stop") break;
            if (step.do === "move_on") {
              hop++;
              here = 0;
            }
          }
          expect(total).toBeLessThanOrEqual(Math.min(LIMITS.attemptsMax, (fallback ? deployments : 1) * attempts));
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
