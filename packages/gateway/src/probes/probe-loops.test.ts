import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { Cancel } from "../core/cancel.ts";
import { ProbeLoops, type ProbeOutcome, type ProbeTarget } from "./probe-loops.ts";

const READY: ProbeOutcome = { result: "ready", errorClass: null, latencyMs: 12 };
const FAILING: ProbeOutcome = { result: "failing", errorClass: "overloaded", latencyMs: 3 };
const LIMITED: ProbeOutcome = { result: "unclear", errorClass: "rate_limited", latencyMs: 2 };

/** One probe on its way: the test ends it. */
interface Running {
  deployment: string;
  at: number;
  cancel: Cancel;
  end(outcome: ProbeOutcome | null): Promise<void>;
  break(cause: unknown): Promise<void>;
}

/** Lets everything that waits for a promise go on. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function rig({ atOnce = 8, floats = [0.5] }: { atOnce?: number; floats?: number[] } = {}) {
  const clock = new VirtualClock();
  const running: Running[] = [];
  const started: string[] = [];
  const told: unknown[][] = [];
  const faults: unknown[][] = [];
  let drawn = 0;
  const loops = new ProbeLoops({
    clock,
    random: { bytes: (count) => new Uint8Array(count), float: () => floats[drawn++ % floats.length] ?? 0 },
    atOnce,
    told: (...news) => void told.push(news),
    fault: (...news) => void faults.push(news),
  });
  const target = (deployment: string, more: Partial<ProbeTarget> = {}): ProbeTarget => ({
    ...{ deployment, key: deployment, everyMs: 30_000, failures: 1 },
    probe: (cancel) =>
      new Promise((resolve, reject) => {
        started.push(`${deployment}@${clock.monotonic()}`);
        const one: Running = {
          ...{ deployment, at: clock.monotonic(), cancel },
          end: (outcome) => over(() => resolve(outcome)),
          break: (cause) => over(() => reject(cause)),
        };
        const over = (settle: () => void): Promise<void> => {
          running.splice(running.indexOf(one), 1);
          settle();
          return turn();
        };
        running.push(one);
        cancel.onCancel(() => void one.end(null));
      }),
    ...more,
  });
  const only = (deployment = "d"): Running => {
    const found = running.filter((one) => one.deployment === deployment);
    expect(found.length, `probes of ${deployment} on their way`).toBe(1);
    return found[0] as Running;
  };
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await turn();
  };
  return { clock, loops, running, started, told, faults, target, only, advance };
}

describe("the rhythm", () => {
  test("the first probe comes within a second, the next an interval after its start, a tenth more or less", async () => {
    // Drawn: the first wait, then the jitter of each interval.
    const { loops, started, target, only, advance } = rig({ floats: [0.25, 0, 0.75, 0.5] });
    loops.follow([target("d")]);
    await advance(249);
    expect(started).toEqual([]);
    await advance(1);
    await advance(2_000);
    await only().end(READY);
    // 250 + 30 s × 0.9: counted from the start of a probe, not from its end.
    await advance(24_999);
    expect(started).toEqual(["d@250"]);
    await advance(1);
    await only().end(READY);
    await advance(31_500);
    await only().end(READY);
    await advance(30_000);
    expect(started).toEqual(["d@250", "d@27250", "d@58750", "d@88750"]);
  });

  test("an interval of less than a second bounds the first wait too", async () => {
    const { loops, started, target, advance } = rig({ floats: [0.5] });
    loops.follow([target("d", { everyMs: 400 })]);
    await advance(200);
    expect(started).toEqual(["d@200"]);
  });

  test("a probe that takes longer than its interval is waited for, and followed at once by the next", async () => {
    const { clock, loops, started, running, target, only, advance } = rig();
    loops.follow([target("d", { everyMs: 10_000 })]);
    await advance(500);
    await advance(60_000);
    expect([running.length, clock.timers]).toEqual([1, 0]);
    await only().end(FAILING);
    await advance(0);
    expect(started).toEqual(["d@500", "d@60500"]);
  });

  test("one that could not even be made is told, and does not end the loop", async () => {
    const { loops, faults, told, started, target, only, advance } = rig();
    loops.follow([target("d")]);
    await advance(500);
    const cause = new Error("no such body");
    await only().break(cause);
    expect([faults, told]).toEqual([[["d", cause]], []]);
    await advance(30_000);
    expect(started.length).toBe(2);
    expect(loops.standings().get("d")?.state).toBe("unknown");
  });
});

describe("many at once", () => {
  test("no more than allowed run, in the order in which they fell due; a hung one holds up nobody but itself", async () => {
    const { loops, running, started, target, only, advance } = rig({ atOnce: 2, floats: [0.5] });
    loops.follow(["a", "b", "c", "d"].map((name) => target(name)));
    await advance(500);
    expect(running.map(({ deployment }) => deployment)).toEqual(["a", "b"]);
    await only("b").end(READY);
    await only("c").end(READY);
    expect(running.map(({ deployment }) => deployment)).toEqual(["a", "d"]);
    await only("d").end(READY);
    await advance(30_000);
    // `a` still hangs: the three others come round again beside it.
    for (const name of ["b", "c", "d"]) await only(name).end(READY);
    expect(started.map((start) => start.slice(0, 1)).join("")).toBe("abcdbcd");
    expect(running.map(({ deployment }) => deployment)).toEqual(["a"]);
  });

  test("one that is dropped while it waits for its turn is never made", async () => {
    const { loops, running, started, target, only, advance } = rig({ atOnce: 1 });
    const targets = ["a", "b"].map((name) => target(name));
    loops.follow(targets);
    await advance(500);
    loops.follow(targets.slice(0, 1));
    await only("a").end(READY);
    expect([running.length, started]).toEqual([0, ["a@500"]]);
  });
});

describe("what is learned", () => {
  test("states change on what a probe says; a refusal for load says nothing; changes are told with what was before", async () => {
    const { clock, loops, told, target, only, advance } = rig();
    loops.follow([target("d")]);
    const epoch = clock.now();
    const standing = () => loops.standings().get("d");
    expect(standing()).toEqual({ state: "unknown", since: epoch, lastErrorClass: null, lastLatencyMs: null });
    await advance(500);
    const states: unknown[] = [];
    for (const outcome of [LIMITED, READY, READY, LIMITED, FAILING, FAILING, LIMITED, READY]) {
      await only().end(outcome);
      const now = standing();
      states.push([now?.state, (now?.since ?? 0) - epoch, now?.lastErrorClass, now?.lastLatencyMs]);
      await advance(30_000);
    }
    expect(states).toEqual([
      ["unknown", 0, "rate_limited", 2],
      ["ready", 30_500, null, 12],
      ["ready", 30_500, null, 12],
      ["ready", 30_500, "rate_limited", 2],
      ["failing", 120_500, "overloaded", 3],
      ["failing", 120_500, "overloaded", 3],
      ["failing", 120_500, "rate_limited", 2],
      ["ready", 210_500, null, 12],
    ]);
    expect(told.map(([, outcome, before]) => [(outcome as ProbeOutcome).result, before])).toEqual([
      ["unclear", null],
      ["ready", "unknown"],
      ["ready", null],
      ["unclear", null],
      ["failing", "ready"],
      ["failing", null],
      ["unclear", null],
      ["ready", "failing"],
    ]);
  });

  test("`failures` in a row are needed, and one good answer begins the count anew", async () => {
    const { loops, target, only, advance } = rig();
    loops.follow([target("d", { failures: 3 })]);
    await advance(500);
    const states: unknown[] = [];
    for (const outcome of [FAILING, FAILING, READY, FAILING, LIMITED, FAILING, FAILING, READY]) {
      await only().end(outcome);
      states.push(loops.standings().get("d")?.state);
      await advance(30_000);
    }
    expect(states).toEqual(["unknown", "unknown", "ready", "ready", "ready", "ready", "failing", "ready"]);
  });

  test("a probe that was not to be made changes nothing and is not told", async () => {
    const { loops, told, target, only, advance } = rig();
    loops.follow([target("d")]);
    await advance(500);
    await only().end(null);
    expect([told, loops.standings().get("d")?.lastLatencyMs]).toEqual([[], null]);
    await advance(30_000);
    only();
  });
});

describe("another config", () => {
  test("what is unchanged goes on in its rhythm with what was learned, and is asked in the new way", async () => {
    const { loops, started, target, only, advance } = rig();
    loops.follow([target("d")]);
    await advance(500);
    await only().end(READY);
    await advance(29_000);
    let asked = 0;
    const probe = async (): Promise<ProbeOutcome> => {
      asked++;
      return FAILING;
    };
    loops.follow([target("d", { probe })]);
    expect(loops.standings().get("d")?.state).toBe("ready");
    await advance(1_000);
    expect([started, asked, loops.standings().get("d")?.state]).toEqual([["d@500"], 1, "failing"]);
  });

  test("what is changed, or gone, is called off: its probe ends, nothing of it is told, and it is unknown again", async () => {
    const { clock, loops, running, told, target, only, advance } = rig();
    loops.follow([target("d"), target("gone")]);
    await advance(500);
    const [changed, gone] = [only("d").cancel, only("gone").cancel];
    loops.follow([target("d", { key: "another" })]);
    await turn();
    expect([changed.reason, gone.reason]).toEqual(["superseded", "superseded"]);
    expect([running.length, told.length, clock.timers]).toEqual([0, 0, 1]);
    expect([...loops.standings().entries()].map(([name, { state }]) => [name, state])).toEqual([["d", "unknown"]]);
    await advance(500);
    await only("d").end(READY);
    expect(told.length).toBe(1);
  });

  test("the end calls off everything, waits for what runs, and lets nothing begin again", async () => {
    const { clock, loops, running, started, target, advance } = rig({ atOnce: 1 });
    loops.follow([target("a"), target("b")]);
    await advance(500);
    await loops.close();
    loops.follow([target("c")]);
    await advance(120_000);
    expect([running.length, started, clock.timers, loops.standings().size]).toEqual([0, ["a@500"], 0, 0]);
  });

  test("the end waits for a probe that takes its time to end", async () => {
    const { loops, target, advance } = rig();
    let finish = (): void => {};
    const probe = (): Promise<null> =>
      new Promise((resolve) => {
        finish = () => resolve(null);
      });
    loops.follow([target("d", { probe })]);
    await advance(500);
    let closed = false;
    const closing = loops.close().then(() => {
      closed = true;
    });
    await turn();
    expect(closed).toBe(false);
    finish();
    await closing;
  });
});
