import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { Cancel } from "../core/cancel.ts";
import { type Ticket, type Tried, type Waited, WaitingRoom } from "./queue.ts";
import type { Priority } from "./shedding.ts";

/** Places at one deployment, as a ceiling of concurrency gives them. */
class Places {
  free = 0;
  taken = 0;
  tries = 0;

  take(): Tried<string> {
    this.tries++;
    if (this.free === 0) return { ok: false, retryAfterMs: 500 };
    this.free--;
    this.taken++;
    return { ok: true, value: "place" };
  }

  giveBack(): void {
    this.free++;
    this.taken--;
  }
}

interface Bench {
  clock: VirtualClock;
  room: WaitingRoom;
  places: Places;
  /** In the order in which waiting ended: name and how. */
  ended: string[];
  join(name: string, options?: Partial<Ticket<string>> & { cancel?: Cancel }): Promise<void>;
}

function bench(): Bench {
  const clock = new VirtualClock();
  const room = new WaitingRoom(clock);
  const places = new Places();
  const ended: string[] = [];
  return {
    ...{ clock, room, places, ended },
    async join(name, { cancel = new Cancel(), ...options } = {}) {
      const ticket: Ticket<string> = {
        ...{ priority: "normal", until: clock.monotonic() + 5_000, maxDepth: 100 },
        take: () => places.take(),
        giveBack: () => places.giveBack(),
        ...options,
      };
      const waited = await room.wait("a", ticket, 500, cancel);
      ended.push(`${name} ${waited.ok ? "in" : waited.why}`);
    },
  };
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

describe("the waiting room", () => {
  it("lets in high before normal before low, and the first who came within one", async () => {
    const { room, places, ended, join } = bench();
    const order: [string, Priority][] = [
      ["low 1", "low"],
      ["normal 1", "normal"],
      ["high 1", "high"],
      ["low 2", "low"],
      ["normal 2", "normal"],
      ["high 2", "high"],
    ];
    for (const [name, priority] of order) void join(name, { priority });
    expect(room.depth("a")).toBe(6);
    places.free = 6;
    room.wake("a");
    await settled();
    expect(ended).toEqual(["high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"].map((name) => `${name} in`));
    expect([room.depth("a"), room.waiting]).toEqual([0, 0]);
  });

  it("lets in only as many as there are places", async () => {
    const { room, places, ended, join } = bench();
    for (const name of ["a", "b", "c"]) void join(name);
    places.free = 2;
    room.wake("a");
    await settled();
    expect(ended).toEqual(["a in", "b in"]);
    expect(room.depth("a")).toBe(1);
  });

  it("looks by itself when nobody wakes it: places also come free on other replicas", async () => {
    const { clock, places, ended, join } = bench();
    void join("a");
    clock.advance(400);
    places.free = 1;
    clock.advance(99);
    await settled();
    expect(ended).toEqual([]);
    clock.advance(1);
    await settled();
    expect(ended).toEqual(["a in"]);
    expect(clock.timers).toBe(0);
  });

  it("ends at the deadline", async () => {
    const { clock, room, ended, join } = bench();
    void join("short", { until: 300 });
    void join("past", { until: 0 });
    clock.advance(300);
    await settled();
    expect(ended).toEqual(["past deadline", "short deadline"]);
    expect([room.waiting, clock.timers]).toEqual([0, 0]);
  });

  it("refuses who comes when it is full, but lets an urgent one push out the newest low one", async () => {
    const { room, ended, join } = bench();
    for (const name of ["low 1", "low 2"]) void join(name, { priority: "low", maxDepth: 3 });
    void join("normal", { maxDepth: 3 });
    void join("normal too many", { maxDepth: 3 });
    void join("high 1", { priority: "high", maxDepth: 3 });
    void join("high 2", { priority: "high", maxDepth: 3 });
    void join("high too many", { priority: "high", maxDepth: 3 });
    await settled();
    expect(ended).toEqual(["normal too many full", "low 2 pushed_out", "low 1 pushed_out", "high too many full"]);
    expect(room.depth("a")).toBe(3);
  });

  it("of no depth lets nobody wait, and keeps nothing of it", async () => {
    const { clock, room, ended, join } = bench();
    void join("a", { maxDepth: 0 });
    await settled();
    expect(ended).toEqual(["a full"]);
    expect([room.waiting, clock.timers]).toEqual([0, 0]);
  });

  it("forgets who leaves, at once", async () => {
    const { clock, room, places, ended, join } = bench();
    const cancel = new Cancel();
    void join("gone", { cancel });
    void join("b");
    cancel.cancel("client_left");
    await settled();
    expect(ended).toEqual(["gone cancelled"]);
    places.free = 1;
    room.wake("a");
    await settled();
    expect(ended).toEqual(["gone cancelled", "b in"]);
    expect(clock.timers).toBe(0);
    void join("too late", { cancel });
    await settled();
    expect(ended.at(-1)).toBe("too late cancelled");
  });

  it("leaves nothing behind at the request of who was let in", async () => {
    const { room, places, join } = bench();
    const cancel = new Cancel();
    let listeners = 0;
    const onCancel = cancel.onCancel.bind(cancel);
    cancel.onCancel = (listener) => {
      listeners++;
      const forget = onCancel(listener);
      return () => {
        listeners--;
        forget();
      };
    };
    const waiting = join("a", { cancel });
    expect(listeners).toBe(1);
    places.free = 1;
    room.wake("a");
    await waiting;
    expect(listeners).toBe(0);
  });

  it("gives back a place that came for one who had left, and the next one gets it", async () => {
    const { clock, room, places, ended, join } = bench();
    let answer = (_: Tried<string>): void => {};
    const cancel = new Cancel();
    void join("gone", {
      cancel,
      take: () => new Promise((resolve) => (answer = resolve)),
    });
    void join("next");
    room.wake("a");
    cancel.cancel("client_left");
    places.taken = 1;
    answer({ ok: true, value: "place" });
    await settled();
    expect(ended).toEqual(["gone cancelled", "next in"]);
    expect([places.free, places.taken, room.waiting, clock.timers]).toEqual([0, 1, 0, 0]);
  });

  it("asks once at a time, and again when it was woken meanwhile", async () => {
    const { room, ended, join } = bench();
    const answers: ((tried: Tried<string>) => void)[] = [];
    const take = (): Promise<Tried<string>> => new Promise((resolve) => answers.push(resolve));
    void join("a", { take });
    room.wake("a");
    room.wake("a");
    room.wake("a");
    expect(answers).toHaveLength(1);
    answers[0]?.({ ok: false, retryAfterMs: 1_000 });
    await settled();
    expect(answers).toHaveLength(2);
    answers[1]?.({ ok: true, value: "place" });
    await settled();
    expect(ended).toEqual(["a in"]);
  });

  it("tells who fails to ask, and goes on with the next", async () => {
    const { clock, room, places, ended, join } = bench();
    const broken = join("sync", {
      take: () => {
        throw new Error("no");
      },
    });
    const rejected = join("async", { take: () => Promise.reject(new Error("nor this")) });
    void join("next");
    places.free = 1;
    const failed = Promise.all([expect(broken).rejects.toThrow("no"), expect(rejected).rejects.toThrow("nor this")]);
    room.wake("a");
    await failed;
    await settled();
    expect(ended).toEqual(["next in"]);
    expect([room.waiting, clock.timers]).toEqual([0, 0]);
  });

  it("keeps its order, its bounds and its places, whatever happens in which order", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("join" as const), priority: fc.constantFrom<Priority>("high", "normal", "low") }),
      fc.record({ do: fc.constant("leave" as const), who: fc.nat(30) }),
      fc.record({ do: fc.constant("free" as const) }),
      fc.record({ do: fc.constant("end" as const) }),
      fc.record({ do: fc.constant("time" as const), ms: fc.nat(1_500) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, slowStore) => {
        const clock = new VirtualClock();
        const room = new WaitingRoom(clock);
        const places = new Places();
        const cancels: Cancel[] = [];
        const results: (Waited<string> | undefined)[] = [];
        for (const each of steps) {
          if (each.do === "join") {
            const index = cancels.length;
            const cancel = new Cancel();
            cancels.push(cancel);
            const take = (): Tried<string> | Promise<Tried<string>> =>
              slowStore ? Promise.resolve().then(() => places.take()) : places.take();
            const until = clock.monotonic() + 2_000;
            const ticket = { priority: each.priority, until, maxDepth: 5, take, giveBack: () => places.giveBack() };
            void room.wait("a", ticket, 300, cancel).then((waited) => {
              results[index] = waited;
            });
            expect(room.depth("a")).toBeLessThanOrEqual(5);
          } else if (each.do === "leave") cancels[each.who]?.cancel("client_left");
          else if (each.do === "time") clock.advance(each.ms);
          else {
            if (each.do === "end" && places.taken === 0) continue;
            if (each.do === "end") places.taken--;
            places.free++;
            room.wake("a");
          }
          if (!slowStore) await settled();
        }
        clock.advance(5_000);
        await settled();
        expect(results.filter(Boolean)).toHaveLength(cancels.length);
        expect([room.waiting, room.depth("a"), clock.timers]).toEqual([0, 0, 0]);
        // Every place that was taken belongs to one who was let in, as long as nobody gave his up.
        const inside = results.filter((result) => result?.ok).length;
        const ended = steps.filter((each) => each.do === "end").length;
        expect(inside - places.taken).toBeGreaterThanOrEqual(0);
        expect(inside - places.taken).toBeLessThanOrEqual(ended);
      }),
      { numRuns: 300 },
    );
  });
});
