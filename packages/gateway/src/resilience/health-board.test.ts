import type { ErrorClass } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BREAKER, call, now, oneBoard, outcome } from "../../test/support/health-boards.ts";
import { UNKNOWN_HEALTH } from "../core/health.ts";
import { NEVER_MS } from "./bounds.ts";
import type { HealthBoard, HealthEvent } from "./health-board.ts";
import type { Permit } from "./permit.ts";

function begin(board: HealthBoard, key = "a"): Permit {
  const permit = now(board.permit(key));
  if (!permit.ok) throw new Error(`no permit: ${permit.why}`);
  return permit;
}

function fail(board: HealthBoard, times: number, kind: ErrorClass = "provider_error"): void {
  for (let i = 0; i < times; i++) call(board, kind);
}

describe("a deployment", () => {
  it("that nothing is known of is well", () => {
    const { board } = oneBoard();
    expect(board.read("a")).toEqual(UNKNOWN_HEALTH);
    expect(board.read("never heard of")).toEqual(UNKNOWN_HEALTH);
  });

  it("is opened by five failures in a row, refuses with the time of the next probe, and is closed by it", () => {
    const { clock, board } = oneBoard();
    fail(board, 4);
    expect(board.read("a").circuit).toBe("closed");
    fail(board, 1);
    expect(board.read("a")).toMatchObject({ circuit: "open", retryAt: clock.now() + 30_000, failures: 5, requests: 5 });
    expect(now(board.permit("a"))).toEqual({ ok: false, why: "open", retryAtMs: clock.now() + 30_000, class: null });
    clock.advance(30_000);
    const probe = begin(board);
    expect(probe.probe).toBe(true);
    expect(board.read("a").circuit).toBe("half_open");
    expect(now(board.permit("a"))).toMatchObject({ ok: false, why: "probing" });
    probe.done(outcome(null));
    expect(board.read("a")).toMatchObject({ circuit: "closed", retryAt: 0, failures: 0, ramp: 0.1 });
    clock.advance(15_000);
    expect(board.read("a").ramp).toBeCloseTo(0.5);
    clock.advance(15_000);
    expect(board.read("a").ramp).toBe(1);
    expect(begin(board).probe).toBe(false);
  });

  it("keeps others out of it", () => {
    const { board } = oneBoard();
    fail(board, 5);
    expect(call(board, null, {}, "b")).toBeNull();
    expect(board.read("b").circuit).toBe("closed");
  });

  it("is opened by half of its calls in the window, and not by those of an earlier one", () => {
    const { clock, board } = oneBoard();
    for (let i = 0; i < 6; i++) call(board, i % 2 === 0 ? null : "timeout");
    expect(board.read("a")).toMatchObject({ circuit: "open", requests: 6, failures: 3 });
    const other = oneBoard();
    for (let i = 0; i < 3; i++) call(other.board, i % 2 === 0 ? null : "timeout");
    other.clock.advance(65_000);
    for (let i = 0; i < 3; i++) call(other.board, i % 2 === 0 ? null : "timeout");
    expect(other.board.read("a").circuit).toBe("closed");
    clock.advance(0);
  });

  it("is opened anew when its probe fails", () => {
    const { clock, board } = oneBoard();
    fail(board, 5);
    clock.advance(30_000);
    begin(board).done(outcome("timeout"));
    expect(board.read("a")).toMatchObject({ circuit: "open", retryAt: clock.now() + 30_000 });
  });

  it("whose probe's client leaves, or is at fault itself, can be probed at once", () => {
    const { clock, board } = oneBoard();
    fail(board, 5);
    clock.advance(30_000);
    begin(board).done(outcome(null, { neutral: true }));
    expect(board.read("a").circuit).toBe("open");
    begin(board).done(outcome("cancelled"));
    begin(board).done(outcome("bad_request"));
    begin(board).done(outcome("timeout", { neutral: true }));
    begin(board).done(outcome(null));
    expect(board.read("a").circuit).toBe("closed");
  });

  it("whose probe is limited cools, stays open, and is probed after that", () => {
    const { clock, board } = oneBoard();
    fail(board, 5);
    clock.advance(30_000);
    begin(board).done(outcome("rate_limited", { retryAfterMs: 7_000 }));
    expect(now(board.permit("a"))).toMatchObject({ ok: false, why: "open", retryAtMs: clock.now() + 7_000 });
    clock.advance(7_000);
    expect(begin(board).probe).toBe(true);
  });

  it("whose probe never ends is probed again one day", () => {
    const { clock, board } = oneBoard();
    fail(board, 5);
    clock.advance(30_000);
    const lost = begin(board);
    clock.advance(899_999);
    expect(now(board.permit("a")).ok).toBe(false);
    clock.advance(1);
    const second = begin(board);
    lost.done(outcome("timeout"));
    expect(board.read("a").circuit).toBe("half_open");
    second.done(outcome(null));
    expect([board.read("a").circuit, board.read("a").inFlight, clock.timers]).toEqual(["closed", 0, 0]);
  });

  it("hears nothing from calls that began before its circuit changed", () => {
    const { clock, board } = oneBoard();
    const early = Array.from({ length: 10 }, () => begin(board));
    fail(board, 5);
    for (const permit of early.splice(0, 5)) permit.done(outcome("provider_error"));
    expect(board.read("a").failures).toBe(5);
    clock.advance(30_000);
    begin(board).done(outcome(null));
    const [first, ...rest] = early;
    for (const permit of rest) permit.done(outcome("provider_error"));
    expect(board.read("a")).toMatchObject({ circuit: "closed", failures: 0 });
    // Nor does it break a row of failures.
    fail(board, 4);
    first?.done(outcome(null));
    // The probe and the four.
    expect(board.read("a").requests).toBe(5);
    fail(board, 1);
    expect(board.read("a")).toMatchObject({ circuit: "open", inFlight: 0 });
  });

  it("can be tried although it is open, which decides nothing", () => {
    const { board } = oneBoard();
    fail(board, 5);
    const permit = board.pass("a");
    expect([permit.ok, permit.probe]).toEqual([true, false]);
    permit.done(outcome(null));
    expect(board.read("a")).toMatchObject({ circuit: "open", inFlight: 0 });
  });
});

describe("a deployment that refuses", () => {
  it("cools for as long as it asks, which opens nothing", () => {
    const { clock, board } = oneBoard();
    expect(call(board, "rate_limited", { retryAfterMs: 20_000 })).toBeNull();
    expect(board.read("a")).toMatchObject({
      ...{ circuit: "closed", coolingUntil: clock.now() + 20_000, coolingFor: "rate_limited", requests: 0 },
    });
    expect(now(board.permit("a"))).toEqual({
      ...{ ok: false, why: "cooling", retryAtMs: clock.now() + 20_000, class: "rate_limited" },
    });
    clock.advance(19_999);
    expect(call(board, null)).toBe("cooling");
    clock.advance(1);
    expect(call(board, null)).toBeNull();
    expect(board.read("a").coolingUntil).toBe(0);
  });

  it("without a word cools for a second, doubling to thirty, and anew after a good call", () => {
    const { clock, board } = oneBoard();
    const spans: number[] = [];
    for (let i = 0; i < 7; i++) {
      call(board, "rate_limited");
      spans.push(board.read("a").coolingUntil - clock.now());
      clock.advance(30_000);
    }
    expect(spans).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    call(board, null);
    call(board, "rate_limited");
    expect(board.read("a").coolingUntil).toBe(clock.now() + 1_000);
  });

  it("to a hundred calls at once has refused once", () => {
    const { clock, board } = oneBoard();
    const burst = Array.from({ length: 100 }, () => begin(board));
    for (const permit of burst) permit.done(outcome("rate_limited"));
    expect(board.read("a").coolingUntil).toBe(clock.now() + 1_000);
    clock.advance(1_000);
    call(board, "rate_limited");
    expect(board.read("a").coolingUntil).toBe(clock.now() + 2_000);
  });

  it("cools for the longer of two reasons", () => {
    const { clock, board } = oneBoard();
    const [first, second, third] = [begin(board), begin(board), begin(board)];
    first.done(outcome("rate_limited", { retryAfterMs: 60_000 }));
    second.done(outcome("rate_limited", { retryAfterMs: 5_000 }));
    expect(board.read("a").coolingUntil).toBe(clock.now() + 60_000);
    third.done(outcome("quota_exhausted"));
    expect(board.read("a")).toMatchObject({ coolingUntil: clock.now() + 600_000, coolingFor: "quota_exhausted" });
  });

  it("a credential cools until there is another one, and old calls say nothing of that", () => {
    const { clock, board } = oneBoard();
    const old = begin(board);
    call(board, "auth_failed");
    expect(board.read("a").coolingUntil).toBe(clock.now() + 300_000);
    board.credentialChanged("a");
    expect(board.read("a").coolingUntil).toBe(0);
    old.done(outcome("auth_failed"));
    expect(call(board, null)).toBeNull();
    call(board, "auth_failed");
    expect(call(board, null)).toBe("cooling");
  });

  it("a credential keeps its other cooldowns when that changes", () => {
    const { clock, board } = oneBoard();
    const [first, second] = [begin(board), begin(board)];
    first.done(outcome("auth_failed"));
    second.done(outcome("rate_limited", { retryAfterMs: 5_000 }));
    board.credentialChanged("a");
    expect(board.read("a")).toMatchObject({ coolingUntil: clock.now() + 5_000, coolingFor: "rate_limited" });
  });

  it("a model cools until a reload, ten minutes at most", () => {
    const { clock, board } = oneBoard();
    call(board, "model_not_found");
    expect(board.read("a").coolingUntil).toBe(clock.now() + 600_000);
    board.follow(new Map([["a", BREAKER]]));
    expect(call(board, null)).toBeNull();
  });
});

describe("a slow deployment", () => {
  /** `count` good calls over `ms`. */
  function calls(
    board: HealthBoard,
    clock: { advance(ms: number): void },
    count: number,
    ms: number,
    latencyMs: number,
  ) {
    for (let i = 0; i < count; i++) {
      call(board, null, { latencyMs });
      clock.advance(ms / count);
    }
  }

  it("loses its good name within a window, and its traffic after three", () => {
    const { clock, board } = oneBoard();
    const events: HealthEvent[] = [];
    board.onEvent((event) => events.push(event));
    calls(board, clock, 200, 600_000, 100);
    expect(board.read("a")).toMatchObject({ degraded: false, circuit: "closed" });
    calls(board, clock, 20, 59_000, 900);
    expect(board.read("a")).toMatchObject({ degraded: true, circuit: "closed" });
    calls(board, clock, 40, 121_000, 900);
    expect(board.read("a")).toMatchObject({ degraded: true, circuit: "closed" });
    calls(board, clock, 2, 6_000, 900);
    expect(board.read("a").circuit).toBe("open");
    expect(events).toMatchObject([{ kind: "opened", why: "latency", by: "here" }]);
  });

  it("that stays as slow is not opened for it again: it is the usual now", () => {
    const { clock, board } = oneBoard();
    calls(board, clock, 200, 600_000, 100);
    calls(board, clock, 64, 190_000, 900);
    expect(board.read("a").circuit).toBe("open");
    clock.advance(30_000);
    let opened = 0;
    board.onEvent(({ kind }) => void (kind === "opened" && opened++));
    calls(board, clock, 400, 1_200_000, 900);
    expect([opened, board.read("a").circuit]).toEqual([0, "closed"]);
  });

  it("is not one whose callers have turned from streams to whole answers", () => {
    const { clock, board } = oneBoard();
    for (let i = 0; i < 200; i++) {
      call(board, null, { ttftMs: 100, latencyMs: 5_000 });
      clock.advance(3_000);
    }
    calls(board, clock, 200, 600_000, 5_000);
    expect(board.read("a")).toMatchObject({ degraded: false, circuit: "closed" });
    expect([board.p95Ms("a", true), board.p95Ms("a", false)].map((ms) => Math.round((ms ?? 0) / 1_000))).toEqual([
      0, 5,
    ]);
  });

  it("is not one that is asked for longer answers", () => {
    const { clock, board } = oneBoard();
    let opened = 0;
    board.onEvent(({ kind }) => void (kind === "opened" && opened++));
    const write = (count: number, tokens: number, msPerToken: number): void => {
      for (let i = 0; i < count; i++) {
        call(board, null, { latencyMs: 300 + tokens * msPerToken, outputTokens: tokens });
        clock.advance(3_000);
      }
    };
    write(200, 20, 8);
    write(100, 2_000, 8);
    expect([opened, board.read("a").degraded]).toEqual([0, false]);
    expect(board.read("a").p50Ms).toBeGreaterThan(10_000);
    write(65, 2_000, 80);
    expect(board.details("a")).toMatchObject({ circuit: "open", openedFor: "latency" });
  });

  it("is one that half of its streams crawl from; that never opens it", () => {
    const { board } = oneBoard();
    for (let i = 0; i < 20; i++) call(board, null, { ttftMs: 100, slow: i % 2 === 0 });
    expect(board.read("a")).toMatchObject({ degraded: true, failures: 10, circuit: "closed" });
  });

  it("shows what it usually takes", () => {
    const { clock, board } = oneBoard();
    for (let i = 0; i < 100; i++) call(board, null, { ttftMs: 200, latencyMs: i < 90 ? 1_000 : 8_000 });
    clock.advance(1_000);
    const { p50Ms, p95Ms, ttftP50Ms } = board.read("a");
    expect(Math.abs((p50Ms ?? 0) / 1_000 - 1)).toBeLessThan(0.07);
    expect(Math.abs((p95Ms ?? 0) / 8_000 - 1)).toBeLessThan(0.07);
    expect(Math.abs((ttftP50Ms ?? 0) / 200 - 1)).toBeLessThan(0.07);
  });
});

describe("by hand", () => {
  it("a circuit is opened for a time; then a probe decides", () => {
    const { clock, board } = oneBoard();
    const facts = board.force("a", "open", { forMs: 600_000, reason: "maintenance", by: "ada" });
    expect(facts).toMatchObject({ circuit: "open", retryAt: clock.now() + 600_000 });
    expect(board.details("a")).toMatchObject({
      ...{ openedAt: clock.now(), openedFor: "hand", probing: false },
      hand: { set: "open", until: clock.now() + 600_000, reason: "maintenance", by: "ada", term: 1 },
    });
    clock.advance(599_999);
    expect(call(board, null)).toBe("open");
    clock.advance(1);
    expect(begin(board).probe).toBe(true);
  });

  it("a circuit is opened until it is closed again, which gives it all its traffic", () => {
    const { clock, board } = oneBoard();
    board.force("a", "open", { by: "ada" });
    clock.advance(1e9);
    expect(now(board.permit("a"))).toMatchObject({ ok: false, why: "open", retryAtMs: NEVER_MS });
    expect(JSON.parse(JSON.stringify(board.read("a")))).toEqual(board.read("a"));
    expect(board.details("a").hand?.until).toBeNull();
    expect(board.force("a", "close", { by: "ada" })).toMatchObject({ circuit: "closed", ramp: 1 });
    expect(call(board, null)).toBeNull();
  });

  it("a circuit is held closed for a time, whatever fails, and left to itself after that", () => {
    const { clock, board } = oneBoard();
    fail(board, 5);
    board.force("a", "close", { forMs: 10_000, by: "ada" });
    fail(board, 50);
    expect(board.read("a").circuit).toBe("closed");
    clock.advance(10_000);
    fail(board, 1);
    expect(board.read("a").circuit).toBe("open");
  });

  it("closing ends cooldowns and forgets failures; resetting forgets latencies too", () => {
    const { board } = oneBoard();
    for (let i = 0; i < 20; i++) call(board, null);
    call(board, "quota_exhausted");
    const closed = board.force("a", "close", { by: "ada" });
    expect(closed).toMatchObject({ coolingUntil: 0, requests: 0 });
    expect(closed.p50Ms).not.toBeNull();
    fail(board, 4);
    board.force("a", "close", { by: "ada" });
    fail(board, 4);
    expect(board.read("a").circuit).toBe("closed");
    expect(board.force("a", "reset", { by: "ada" })).toEqual(UNKNOWN_HEALTH);
  });

  it("what was opened while its probe was out hears nothing of the probe", () => {
    const { clock, board } = oneBoard();
    fail(board, 5);
    clock.advance(30_000);
    const probe = begin(board);
    board.force("a", "open", { by: "ada" });
    probe.done(outcome(null));
    expect(board.read("a")).toMatchObject({ circuit: "open", inFlight: 0 });
    expect(clock.timers).toBe(0);
  });
});

describe("the board", () => {
  it("tells what happens, once each", () => {
    const { clock, board } = oneBoard();
    const events: string[] = [];
    const stop = board.onEvent(({ kind, key, why, by }) => events.push(`${key} ${kind} ${why} ${by}`));
    fail(board, 5);
    clock.advance(30_000);
    begin(board).done(outcome(null));
    call(board, "quota_exhausted");
    board.force("b", "open", { by: "ada" });
    stop();
    board.force("b", "close", { by: "ada" });
    expect(events).toEqual([
      "a opened consecutive here",
      "a half_open null here",
      "a closed null here",
      "a cooled quota_exhausted here",
      "b opened hand hand",
    ]);
  });

  it("counts on through a reload, and forgets what the config has no more once it is idle", () => {
    const { board } = oneBoard();
    fail(board, 4);
    const running = begin(board, "b");
    board.follow(new Map([["a", { ...BREAKER, windowMs: 30_000 }]]));
    expect(board.read("a").failures).toBe(4);
    fail(board, 1);
    expect(board.read("a").circuit).toBe("open");
    expect(board.keys()).toEqual(["a", "b"]);
    running.done(outcome(null));
    expect(board.keys()).toEqual(["a"]);
  });

  it("remembers what was refused although the config has it no more", () => {
    const { clock, board } = oneBoard();
    call(board, "quota_exhausted");
    board.follow(new Map());
    expect(call(board, null)).toBe("cooling");
    clock.advance(600_000);
    board.follow(new Map());
    expect(board.keys()).toEqual([]);
  });

  it("counts keys that no config names, up to a bound", () => {
    const { board } = oneBoard();
    fail(board, 1);
    for (let i = 0; i < 10_005; i++) call(board, "provider_error", {}, `guest ${i}`);
    expect(board.keys()).toHaveLength(10_000);
    expect(call(board, "provider_error", {}, "one more")).toBeNull();
  });

  it("lets a route look at another window than the breaker's", () => {
    const { clock, board } = oneBoard();
    board.follow(new Map([["a", BREAKER]]), 600_000);
    fail(board, 3);
    clock.advance(120_000);
    fail(board, 1);
    expect([board.read("a").failures, board.read("a", 600_000).failures]).toEqual([1, 4]);
  });

  it("hears the end of a call once", () => {
    const { board } = oneBoard();
    const permit = begin(board);
    expect(board.read("a").inFlight).toBe(1);
    permit.done(outcome(null));
    permit.done(outcome("provider_error"));
    expect(board.read("a")).toMatchObject({ inFlight: 0, requests: 1, failures: 0 });
  });
});

const NOTHING: readonly ErrorClass[] = ["context_overflow", "content_filtered", "bad_request", "cancelled"];
const anyClass = fc.constantFrom<ErrorClass | null>(
  null,
  "provider_error",
  "timeout",
  "rate_limited",
  "auth_failed",
  ...NOTHING,
);

describe("whatever happens", () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("begin" as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        ...{ do: fc.constant("end" as const), which: fc.nat(40), kind: anyClass, neutral: fc.boolean() },
        retryAfterMs: fc.option(fc.nat(90_000), { nil: null }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("time" as const), ms: fc.nat(40_000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("open" as const, "close" as const, "reset" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("reload" as const, "credential" as const) }) },
  );

  it("permits and ends balance, there is one probe at most, and no circuit is open for ever", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const { clock, board } = oneBoard();
        const open: Permit[] = [];
        // The one that decides, until it is over, taken for lost, or overruled by a hand.
        let probe: { permit: Permit; at: number } | null = null;
        const end = (permit: Permit | undefined, kind: ErrorClass | null, change = {}) => {
          if (permit) open.splice(open.indexOf(permit), 1);
          if (permit === probe?.permit) probe = null;
          permit?.done(outcome(kind, change));
        };
        for (const each of steps) {
          if (each.do === "begin") {
            const permit = now(board.permit("a"));
            if (permit.ok) open.push(permit);
            if (permit.ok && permit.probe) {
              expect(probe).toBeNull();
              probe = { permit, at: clock.monotonic() };
            }
          } else if (each.do === "end") end(open[each.which], each.kind, each);
          else if (each.do === "time") clock.advance(each.ms);
          else if (each.do === "reload") board.follow(new Map([["a", BREAKER]]));
          else if (each.do === "credential") board.credentialChanged("a");
          else {
            board.force("a", each.do, { forMs: 20_000, by: "ada" });
            probe = null;
          }
          if (probe && clock.monotonic() - probe.at >= 900_000) probe = null;
          expect(board.read("a").inFlight).toBe(open.length);
          expect(board.details("a").probing).toBe(probe !== null);
          expect(board.read("a").circuit === "half_open").toBe(probe !== null);
        }
        for (const permit of [...open]) end(permit, null, { neutral: true });
        // The place of a failed probe is given back a little later.
        clock.advance(1_000);
        expect([board.read("a").inFlight, clock.timers]).toEqual([0, 0]);
        clock.advance(3_600_000);
        const last = now(board.permit("a"));
        expect(last.ok).toBe(true);
        if (last.ok) last.done(outcome(null));
        expect(board.read("a")).toMatchObject({ circuit: "closed", inFlight: 0 });
      }),
      { numRuns: 400 },
    );
  });

  it("what is the client's fault, or nobody's, changes nothing", () => {
    const faults = fc.record({ kind: anyClass, neutral: fc.boolean(), ms: fc.nat(5_000) });
    fc.assert(
      fc.property(fc.array(faults, { maxLength: 80 }), (calls) => {
        const mixed = oneBoard();
        const clean = oneBoard();
        for (const { kind, neutral, ms } of calls) {
          const isNothing = neutral || (kind !== null && NOTHING.includes(kind));
          call(mixed.board, kind, { neutral });
          if (!isNothing) call(clean.board, kind);
          mixed.clock.advance(ms);
          clean.clock.advance(ms);
          const seen = mixed.board.read("a");
          expect(seen).toEqual(clean.board.read("a"));
        }
      }),
      { numRuns: 400 },
    );
  });

  it("the longer of any two cooldowns wins", () => {
    const refusals = fc.array(fc.integer({ min: 1, max: 600_000 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(refusals, (spans) => {
        const { clock, board } = oneBoard();
        const permits = spans.map(() => begin(board));
        for (const [index, permit] of permits.entries()) {
          permit.done(outcome("rate_limited", { retryAfterMs: spans[index] ?? 0 }));
        }
        expect(board.read("a").coolingUntil).toBe(clock.now() + Math.max(...spans));
      }),
    );
  });
});
