import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advance, type Breaker, type BreakerEvent, CLOSED, type Hand, rampOf, trips } from "./breaker.ts";

const CONFIG = {
  ...{ consecutive: 5, errorRate: 0.5, minRequests: 5, windowMs: 60_000 },
  ...{ latencyFactor: 3, recoveryMs: 30_000, probes: 1 },
};
const NONE = { streak: 0, calls: 0, failures: 0, slowWindows: 0 };

function through(events: readonly (BreakerEvent & { at: number })[], config = CONFIG): Breaker {
  return events.reduce<Breaker>((breaker, event) => advance(breaker, event, config, event.at), CLOSED);
}

const tripped = { kind: "tripped", why: "consecutive", at: 0 } as const;
const hand = (set: Hand["set"], until: number) => ({ set, until, reason: null, by: "ada", term: 1 });

describe("a circuit opens", () => {
  it.each([
    ["at five failures in a row", { streak: 5, calls: 500, failures: 5 }, "consecutive"],
    ["not at four", { streak: 4, calls: 500, failures: 4 }, null],
    ["at half of five", { streak: 1, calls: 6, failures: 3 }, "error_rate"],
    ["not at less than half", { streak: 1, calls: 7, failures: 3 }, null],
    ["not of fewer than five", { streak: 4, calls: 4, failures: 4 }, null],
    ["when slowness is sustained", { calls: 100, slowWindows: 3 }, "latency"],
    ["not after two slow windows", { calls: 100, slowWindows: 2 }, null],
    ["not without anything", {}, null],
  ])("%s", (_name, facts, why) => {
    expect(trips(CONFIG, { ...NONE, ...facts })).toBe(why);
  });

  it("at no error rate of 0 without a failure", () => {
    expect(trips({ ...CONFIG, errorRate: 0 }, { ...NONE, calls: 10 })).toBeNull();
  });
});

describe("an open circuit", () => {
  it("stays open for its recovery, then lets a probe out, and closes when that goes well", () => {
    const open = through([tripped]);
    expect(open).toMatchObject({ circuit: "open", openedAt: 0, until: 30_000, why: "consecutive" });
    expect(advance(open, { kind: "probe_out" }, CONFIG, 29_999)).toBe(open);
    const half = advance(open, { kind: "probe_out" }, CONFIG, 30_000);
    expect(half.circuit).toBe("half_open");
    expect(advance(half, { kind: "probe_well" }, CONFIG, 31_000)).toMatchObject({
      circuit: "closed",
      closedAt: 31_000,
    });
  });

  it("opens anew when its probe fails, and lets another out at once when it told nothing", () => {
    const half = through([tripped, { kind: "probe_out", at: 30_000 }]);
    expect(advance(half, { kind: "probe_failed" }, CONFIG, 32_000)).toMatchObject({
      ...{ circuit: "open", openedAt: 0, until: 62_000, why: "probe" },
    });
    const lost = advance(half, { kind: "probe_lost" }, CONFIG, 32_000);
    expect(advance(lost, { kind: "probe_out" }, CONFIG, 32_000).circuit).toBe("half_open");
  });

  it("wants as many probes in a row as the config says", () => {
    const config = { ...CONFIG, probes: 2 };
    const once = through([tripped, { kind: "probe_out", at: 30_000 }, { kind: "probe_well", at: 30_100 }], config);
    expect(once).toMatchObject({ circuit: "open", probesWell: 1, until: 30_100 });
    const out = advance(once, { kind: "probe_out" }, config, 30_100);
    expect(advance(out, { kind: "probe_well" }, config, 30_200).circuit).toBe("closed");
    expect(advance(out, { kind: "probe_failed" }, config, 30_200).probesWell).toBe(0);
    expect(advance(out, { kind: "probe_lost" }, config, 30_200).probesWell).toBe(1);
  });

  it("gets its traffic back over one recovery", () => {
    const closed = through([tripped, { kind: "probe_out", at: 30_000 }, { kind: "probe_well", at: 40_000 }]);
    expect([40_000, 55_000, 70_000, 900_000].map((now) => rampOf(closed, CONFIG, now))).toEqual([0.1, 0.5, 1, 1]);
    expect(rampOf(CLOSED, CONFIG, 0)).toBe(1);
  });
});

describe("by hand", () => {
  it("it is open for a time, after which a probe decides, or until somebody changes it", () => {
    const open = through([{ kind: "forced", hand: hand("open", 600_000), at: 0 }]);
    expect(open).toMatchObject({ circuit: "open", until: 600_000, why: "hand" });
    expect(advance(open, { kind: "probe_out" }, CONFIG, 599_999)).toBe(open);
    expect(advance(open, { kind: "probe_out" }, CONFIG, 600_000).circuit).toBe("half_open");
    const endless = through([{ kind: "forced", hand: hand("open", Number.POSITIVE_INFINITY), at: 0 }]);
    expect(advance(endless, { kind: "probe_out" }, CONFIG, 1e12)).toBe(endless);
    const freed = advance(endless, { kind: "forced", hand: hand("free", Number.POSITIVE_INFINITY) }, CONFIG, 1e12);
    expect(freed).toMatchObject({ circuit: "closed", closedAt: null });
    expect(advance(freed, { kind: "tripped", why: "error_rate" }, CONFIG, 1e12).circuit).toBe("open");
  });

  it("it is held closed for a time, whatever fails", () => {
    const held = through([tripped, { kind: "forced", hand: hand("closed", 10_000), at: 0 }]);
    expect(held).toMatchObject({ circuit: "closed", closedAt: null });
    expect(advance(held, { kind: "tripped", why: "error_rate" }, CONFIG, 9_999)).toBe(held);
    expect(advance(held, { kind: "tripped", why: "error_rate" }, CONFIG, 10_000).circuit).toBe("open");
  });
});

describe("whatever happens", () => {
  const event = fc.oneof(
    fc.constantFrom<BreakerEvent>(
      { kind: "tripped", why: "error_rate" },
      { kind: "probe_out" },
      { kind: "probe_well" },
      { kind: "probe_failed" },
      { kind: "probe_lost" },
    ),
    fc.record({
      kind: fc.constant("forced" as const),
      hand: fc.record({
        ...{ set: fc.constantFrom<Hand["set"]>("open", "closed", "free"), until: fc.nat(200_000) },
        ...{ reason: fc.constant(null), by: fc.constant("ada"), term: fc.constant(1) },
      }),
    }),
  );
  const history = fc.array(fc.tuple(event, fc.nat(20_000)), { maxLength: 60 });

  it("a circuit is never stuck: from every state, time and good probes close it", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 4 }), (steps, probes) => {
        const config = { ...CONFIG, probes };
        let now = 0;
        let breaker = CLOSED;
        for (const [what, after] of steps) {
          now += after;
          breaker = advance(breaker, what, config, now);
          if (breaker.circuit !== "closed") expect(breaker.until).toBeLessThanOrEqual(Math.max(200_000, now + 30_000));
        }
        now += 300_000;
        for (let i = 0; i < probes; i++) {
          breaker = advance(breaker, { kind: "probe_out" }, config, now);
          breaker = advance(breaker, { kind: "probe_well" }, config, now);
        }
        expect(breaker.circuit).toBe("closed");
      }),
    );
  });

  it("only a probe or a hand closes what is open", () => {
    fc.assert(
      fc.property(history, (steps) => {
        let now = 0;
        let breaker = CLOSED;
        for (const [what, after] of steps) {
          now += after;
          const next = advance(breaker, what, CONFIG, now);
          if (breaker.circuit !== "closed" && next.circuit === "closed") {
            const byProbe = what.kind === "probe_well" && breaker.circuit === "half_open";
            const byHand = what.kind === "forced" && what.hand.set !== "open";
            expect(byProbe || byHand).toBe(true);
          }
          breaker = next;
        }
      }),
    );
  });
});
