import type { ErrorClass } from "@sluicegate/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BREAKER, call, chance, outcome, replicas, turns } from "../../test/support/health-boards.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import type { Random } from "../core/random.ts";
import { HealthBoard, type HealthEvent } from "./health-board.ts";
import type { Permit } from "./permit.ts";
import { type BoardRecord, LONE_BOARD, type SharedBoard } from "./shared-board.ts";

/** Asks every board at once, and says which may probe. */
async function ask(boards: readonly HealthBoard[]): Promise<Permit[]> {
  const answers = await Promise.all(boards.map((board) => board.permit("a")));
  return answers.filter((answer) => answer.ok);
}

function trip(board: HealthBoard | undefined, kind: ErrorClass = "provider_error"): void {
  for (let i = 0; i < 5; i++) if (board) call(board, kind);
}

const circuits = (boards: readonly HealthBoard[]) => boards.map((board) => board.read("a").circuit);

describe("replicas", () => {
  it("open together, send one probe between them, and close together", async () => {
    const { clock, boards } = replicas(20);
    const events: HealthEvent[] = [];
    for (const board of boards) board.onEvent((event) => events.push(event));
    trip(boards[3]);
    await turns();
    expect(new Set(circuits(boards))).toEqual(new Set(["open"]));
    expect(new Set(boards.map((board) => board.read("a").retryAt))).toEqual(new Set([clock.now() + 30_000]));
    expect(events.map(({ by }) => by).sort()).toEqual([...new Array(19).fill("elsewhere"), "here"]);
    clock.advance(30_000);
    const probes = await ask(boards);
    expect(probes.map(({ probe }) => probe)).toEqual([true]);
    clock.advance(2_000);
    expect(await ask(boards)).toEqual([]);
    probes[0]?.done(outcome(null));
    await turns();
    expect(new Set(circuits(boards))).toEqual(new Set(["closed"]));
    expect(boards.map((board) => board.read("a").ramp)).toEqual(new Array(20).fill(0.1));
  });

  it("wait together when the probe fails", async () => {
    const { clock, boards } = replicas(20);
    trip(boards[0]);
    await turns();
    clock.advance(30_000);
    const [probe] = await ask(boards);
    clock.advance(5_000);
    probe?.done(outcome("timeout"));
    expect(await ask(boards)).toEqual([]);
    clock.advance(29_999);
    expect(await ask(boards)).toEqual([]);
    clock.advance(1);
    expect(await ask(boards)).toHaveLength(1);
  });

  it("let the next one probe at once when a probe's client leaves, and soon when its replica dies", async () => {
    const { clock, boards, shared } = replicas(3);
    trip(boards[0]);
    await turns();
    clock.advance(30_000);
    const [first] = await ask(boards);
    first?.done(outcome(null, { neutral: true }));
    clock.advance(500);
    const again = await ask(boards);
    expect(again).toHaveLength(1);
    // Whose replica renews no more: what is left of its place runs out.
    const held = shared.leases.get("probe:a");
    const dead = boards[held?.holder ?? 0];
    dead?.close();
    shared.leases.set("probe:a", { holder: 99, until: held?.until ?? 0 });
    const alive = boards.filter((board) => board !== dead);
    expect(await ask(alive)).toEqual([]);
    clock.advance(30_000);
    expect(await ask(alive)).toHaveLength(1);
  });

  it("leave the place of a failed probe alone until all can have heard of it", async () => {
    const { clock, boards, shared } = replicas(2);
    trip(boards[0]);
    await turns();
    clock.advance(30_000);
    const [probe] = await ask(boards);
    probe?.done(outcome("timeout"));
    expect(shared.leases.has("probe:a")).toBe(true);
    clock.advance(1_000);
    expect(shared.leases.has("probe:a")).toBe(false);
  });

  it("let the probe that is out decide, whatever they have to say meanwhile that is no later failure", async () => {
    const { clock, boards, shared } = replicas(2);
    trip(boards[0]);
    await turns();
    clock.advance(30_000);
    const [probe] = await ask(boards.slice(0, 1));
    const known = shared.records.get("a");
    if (known) shared.replica().publish("a", { ...known, by: "a third one", term: 8, version: 99 });
    await turns();
    expect(boards[0]?.details("a")).toMatchObject({ circuit: "half_open", probing: true });
    probe?.done(outcome(null));
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed"]);
  });

  it("keep a probe's place for as long as it runs", async () => {
    const { clock, boards } = replicas(2);
    trip(boards[0]);
    await turns();
    clock.advance(30_000);
    const [probe] = await ask(boards);
    for (let i = 0; i < 60; i++) {
      clock.advance(10_000);
      await turns();
      expect(await ask(boards)).toEqual([]);
    }
    probe?.done(outcome(null));
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed"]);
  });

  it("count each other's good probes where more than one is wanted", async () => {
    const { clock, boards } = replicas(3, { probes: 3 });
    trip(boards[0]);
    await turns();
    clock.advance(30_000);
    for (let i = 0; i < 3; i++) {
      clock.advance(1_000);
      const [probe] = await ask([...boards.slice(i), ...boards.slice(0, i)]);
      probe?.done(outcome(null));
      await turns();
    }
    expect(circuits(boards)).toEqual(["closed", "closed", "closed"]);
  });

  it("cool together, for the longer of what they were told", async () => {
    const { clock, boards } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    call(one, "rate_limited", { retryAfterMs: 60_000 });
    call(two, "rate_limited", { retryAfterMs: 20_000 });
    await turns();
    expect(boards.map((board) => board.read("a").coolingUntil)).toEqual(new Array(2).fill(clock.now() + 60_000));
    expect(call(two, null)).toBe("cooling");
  });

  it("do not undo an opening they have not heard of by what they say of something else", async () => {
    const { boards } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    for (const retryAfterMs of [1_000, 2_000, 3_000]) {
      const permit = two.pass("a");
      permit.done(outcome("rate_limited", { retryAfterMs }));
    }
    trip(one);
    await turns();
    expect(circuits(boards)).toEqual(["open", "open"]);
  });

  it("try a new credential together", async () => {
    const { boards, shared } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    call(one, "auth_failed");
    await turns();
    expect(call(two, null)).toBe("cooling");
    const old = shared.records.get("a");
    one.credentialChanged("a");
    await turns();
    expect(call(two, null)).toBeNull();
    // What comes late from one that has not heard of it.
    if (old) shared.replica().publish("a", { ...old, by: "a third one", version: 99 });
    await turns();
    expect([call(one, null), call(two, null)]).toEqual([null, null]);
  });

  it("ask again for a model after a reload, whatever those say that have not read the config yet", async () => {
    const { clock, boards } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    call(one, "model_not_found");
    await turns();
    clock.advance(1_000);
    one.follow(new Map([["a", BREAKER]]));
    for (let i = 0; i < 5; i++) two.pass("a").done(outcome("timeout"));
    await turns();
    expect(one.read("a")).toMatchObject({ circuit: "open", coolingUntil: 0 });
    expect(two.read("a").coolingFor).toBe("model_not_found");
    // What it finds out after the reload is news.
    clock.advance(1_000);
    two.follow(new Map([["a", BREAKER]]));
    two.pass("a").done(outcome("model_not_found"));
    await turns();
    expect(one.read("a").coolingFor).toBe("model_not_found");
  });

  it("obey a hand wherever it was set, whatever they find themselves", async () => {
    const { clock, boards } = replicas(3);
    const [one, two, three] = boards as [HealthBoard, HealthBoard, HealthBoard];
    trip(two);
    await turns();
    one.force("a", "close", { forMs: 60_000, by: "ada" });
    await turns();
    trip(three);
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed", "closed"]);
    expect(two.details("a").hand).toMatchObject({
      set: "closed",
      until: clock.now() + 60_000,
      reason: null,
      by: "ada",
    });
    two.force("a", "open", { by: "bo" });
    await turns();
    expect(circuits(boards)).toEqual(["open", "open", "open"]);
    clock.advance(1e7);
    expect(await ask(boards)).toEqual([]);
    three.force("a", "close", { by: "ada" });
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed", "closed"]);
    expect(boards.map((board) => board.read("a").ramp)).toEqual([1, 1, 1]);
  });

  it("obey a hand that was set while one of them opened its circuit", async () => {
    const { boards } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    trip(two);
    trip(two);
    one.force("a", "close", { forMs: 60_000, by: "ada" });
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed"]);
  });

  it("go on as usual after a hand has let go", async () => {
    const { clock, boards } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    one.force("a", "close", { by: "ada" });
    await turns();
    trip(two);
    await turns();
    expect(circuits(boards)).toEqual(["open", "open"]);
    clock.advance(30_000);
    const [probe] = await ask([two]);
    probe?.done(outcome(null));
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed"]);
  });

  it("obey the same one of two hands at once", async () => {
    const { boards } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    one.force("a", "open", { forMs: 60_000, by: "ada" });
    two.force("a", "open", { forMs: 60_000, by: "bo" });
    await turns();
    expect(boards.map((board) => board.details("a").hand?.by)).toEqual(["bo", "bo"]);
    one.force("b", "close", { forMs: 60_000, by: "ada" });
    two.force("b", "open", { forMs: 10_000, by: "ada" });
    await turns();
    expect(boards.map((board) => board.read("b").circuit)).toEqual(["open", "open"]);
  });

  it("end each other's cooldowns by hand, and an older message does not bring them back", async () => {
    const { boards, shared } = replicas(2);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    call(one, "quota_exhausted");
    await turns();
    const old = shared.records.get("a");
    two.force("a", "reset", { by: "ada" });
    await turns();
    expect(boards.map((board) => board.read("a").coolingUntil)).toEqual([0, 0]);
    if (old) shared.replica().publish("a", { ...old, by: "a third one", version: 99 });
    await turns();
    expect(boards.map((board) => board.read("a").coolingUntil)).toEqual([0, 0]);
  });

  it("that come later hear what is so", async () => {
    const { clock, boards, join } = replicas(1);
    trip(boards[0]);
    call(boards[0] as HealthBoard, "quota_exhausted", {}, "b");
    await turns();
    const late = join(9);
    await turns();
    expect(late.read("a").circuit).toBe("open");
    expect(late.read("b").coolingUntil).toBe(clock.now() + 600_000);
  });

  it("believe nobody longer than themselves: a wrong clock shuts no circuit for ever", async () => {
    const { clock, boards, shared } = replicas(1);
    shared.replica().publish("a", {
      ...{ circuit: "open", openedAt: clock.now() + 1e9, until: clock.now() + 1e12, why: "consecutive" },
      ...{ probesWell: 0, coolingUntil: clock.now() + 1e12, coolingFor: "auth_failed", hand: null },
      ...{ term: 7, lifted: 0, credentials: 0, by: "wrong", version: 9 },
    });
    await turns();
    expect(boards[0]?.read("a")).toMatchObject({
      ...{ retryAt: clock.now() + 30_000, coolingUntil: clock.now() + 300_000 },
    });
  });
});

describe("a record that another version has written", () => {
  const good = {
    ...{ circuit: "open", openedAt: 0, until: Date.UTC(2026, 10, 29) + 5_000, why: "consecutive", probesWell: 0 },
    ...{ coolingUntil: 0, coolingFor: null, hand: null, term: 3, lifted: 0, credentials: 0, by: "another", version: 4 },
  };
  const hand = { set: "open", until: null, reason: null, by: "ada", term: 3 };

  async function heard(record: object): Promise<string> {
    const { boards, shared } = replicas(1);
    shared.replica().publish("a", record as BoardRecord);
    await turns();
    return boards[0]?.read("a").circuit ?? "";
  }

  it("counts when it can be read", async () => {
    expect(await heard(good)).toBe("open");
    expect(await heard({ ...good, hand, more: { than: "is known" } })).toBe("open");
  });

  it.each([
    ["only a version", { version: 4 }],
    ["another circuit", { ...good, circuit: "ajar" }],
    ["no term", { ...good, term: undefined }],
    ["a time that is none", { ...good, until: "soon" }],
    ["another reason to cool", { ...good, coolingFor: "boredom", coolingUntil: 1e15 }],
    ["another hand", { ...good, hand: { ...hand, set: "off" } }],
    ["a hand without a term", { ...good, hand: { ...hand, term: null } }],
  ])("is passed over with %s", async (_name, record) => {
    expect(await heard(record)).toBe("closed");
  });
});

describe("without what they share", () => {
  it("each goes on alone, and they agree again when it is back", async () => {
    const { clock, boards, shared } = replicas(3);
    const [one, two, three] = boards as [HealthBoard, HealthBoard, HealthBoard];
    shared.down = true;
    trip(one);
    call(two, "quota_exhausted");
    three.force("b", "open", { by: "ada" });
    await turns();
    expect(circuits(boards)).toEqual(["open", "closed", "closed"]);
    clock.advance(1_000);
    shared.down = false;
    await turns();
    expect(circuits(boards)).toEqual(["open", "open", "open"]);
    for (const board of boards) {
      expect(board.read("a").coolingFor).toBe("quota_exhausted");
      expect(board.read("b").circuit).toBe("open");
    }
  });

  it("each sends its own probe", async () => {
    const { clock, boards, shared } = replicas(2);
    trip(boards[0]);
    await turns();
    shared.down = true;
    clock.advance(30_000);
    const probes = await ask(boards);
    expect(probes.map(({ probe }) => probe)).toEqual([true, true]);
    for (const probe of probes) probe.done(outcome(null));
    expect(circuits(boards)).toEqual(["closed", "closed"]);
  });

  it("a store that does not answer holds no probe up", async () => {
    const clock = new VirtualClock();
    const shared = { ...LONE_BOARD, lease: () => new Promise<boolean>(() => {}) };
    const board = new HealthBoard({ clock, random: chance(1), shared });
    trip(board);
    clock.advance(30_000);
    const asked = board.permit("a");
    expect(board.permit("a")).toMatchObject({ ok: false, why: "probing" });
    clock.advance(250);
    expect(await asked).toMatchObject({ ok: true, probe: true });
  });

  it("a closing that nobody heard of is heard when it is back", async () => {
    const { clock, boards, shared } = replicas(2);
    const [one] = boards as [HealthBoard];
    trip(one);
    await turns();
    shared.down = true;
    clock.advance(30_000);
    const [probe] = await ask([one]);
    probe?.done(outcome(null));
    expect(circuits(boards)).toEqual(["closed", "open"]);
    shared.down = false;
    await turns();
    expect(circuits(boards)).toEqual(["closed", "closed"]);
  });

  it("a place that comes when nobody needs it any more is given back", async () => {
    const clock = new VirtualClock();
    let grant = (_: boolean): void => {};
    const said: string[] = [];
    const shared = {
      ...LONE_BOARD,
      lease: () => new Promise<boolean>((resolve) => (grant = resolve)),
      release: (name: string) => void said.push(name),
    };
    const board = new HealthBoard({ clock, random: chance(1), shared });
    trip(board);
    clock.advance(30_000);
    const asked = board.permit("a");
    board.force("a", "close", { by: "ada" });
    said.length = 0;
    grant(true);
    expect(await asked).toMatchObject({ ok: true, probe: false });
    expect([said, clock.timers]).toEqual([["probe:a"], 0]);
  });

  it("a circuit that changed while the others were asked is what it is now", async () => {
    const { clock, boards, shared } = replicas(1);
    const [board] = boards as [HealthBoard];
    trip(board);
    clock.advance(30_000);
    const asked = board.permit("a");
    board.force("a", "close", { by: "ada" });
    expect(await asked).toMatchObject({ ok: true, probe: false });
    expect(shared.leases.size).toBe(0);
  });
});

describe("whatever happens between replicas", () => {
  const REPLICAS = 4;
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("ask" as const), who: fc.nat(REPLICAS - 1) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        ...{ do: fc.constant("end" as const), which: fc.nat(20) },
        kind: fc.constantFrom<ErrorClass | null>(null, "provider_error", "provider_error", "cancelled", "rate_limited"),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("time" as const), ms: fc.nat(35_000) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("turns" as const), count: fc.nat(6) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("lose" as const, "find" as const) }) },
  );

  it("one probe is out at a time while they hear each other; permits balance; in the end all agree and let calls through", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), fc.boolean(), async (steps, loses) => {
        const { clock, boards, shared } = replicas(REPLICAS, { consecutive: 2 });
        const open: { permit: Permit; who: number; at: number }[] = [];
        const asking: Promise<void>[] = [];
        let lost = false;
        for (const each of steps) {
          if (each.do === "ask") {
            const { who } = each;
            const permit = Promise.resolve(boards[who]?.permit("a"));
            asking.push(
              permit.then((answer) => void (answer?.ok && open.push({ permit: answer, who, at: clock.monotonic() }))),
            );
            await turns();
          } else if (each.do === "end") {
            const [ended] = open.splice(each.which, 1);
            ended?.permit.done(outcome(each.kind, { retryAfterMs: 4_000 }));
            await turns();
          } else if (each.do === "time") {
            clock.advance(each.ms);
            await turns();
          } else if (each.do === "turns") await turns(each.count);
          else if (loses) {
            lost ||= each.do === "lose";
            shared.down = each.do === "lose";
            await turns();
          }
          // A place is taken for lost after a quarter of an hour.
          const probes = open.filter(({ permit, at }) => permit.probe && clock.monotonic() - at < 900_000);
          if (!lost) expect(probes.length).toBeLessThanOrEqual(1);
        }
        await Promise.all(asking);
        shared.down = false;
        for (const { permit } of open.splice(0)) permit.done(outcome(null, { neutral: true }));
        await turns();
        expect(boards.map((board) => board.read("a").inFlight)).toEqual(new Array(REPLICAS).fill(0));
        // A good provider: each asks now and then, and in a minute all of them call it.
        for (let i = 0; i < 60; i++) {
          clock.advance(1_000);
          for (const permit of await ask(boards)) permit.done(outcome(null));
          await turns();
        }
        expect(circuits(boards)).toEqual(new Array(REPLICAS).fill("closed"));
        expect(await ask(boards)).toHaveLength(REPLICAS);
      }),
      { numRuns: 250 },
    );
  });

  it("records may arrive late, twice, in any order, or be written over unheard: in the end all say the same", () => {
    const act = fc.record({
      who: fc.nat(2),
      what: fc.constantFrom("trip" as const, "cool" as const, "open" as const, "close" as const, "free" as const),
      forMs: fc.integer({ min: 1, max: 600_000 }),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 12 }), fc.integer(), (acts, seed) => {
        const wire = new RandomWire(seed);
        const boards = [0, 1, 2].map((id) => {
          const board = new HealthBoard({ clock: wire.clock, random: chance(id + 1), shared: wire.replica(id) });
          board.follow(new Map([["a", BREAKER]]));
          return board;
        });
        for (const { who, what, forMs } of acts) {
          const board = boards[who] as HealthBoard;
          if (what === "trip") trip(board);
          else if (what === "cool") board.pass("a").done(outcome("rate_limited", { retryAfterMs: forMs }));
          else if (what === "free") board.force("a", "close", { by: `hand ${who}` });
          else board.force("a", what, { forMs, by: `hand ${who}` });
          for (let i = 0; i < 3; i++) wire.deliverSome();
        }
        wire.deliverAll();
        const seen = boards.map((board) => {
          const { circuit, retryAt, hand } = board.details("a");
          return { circuit, retryAt, hand };
        });
        expect(seen[1]).toEqual(seen[0]);
        expect(seen[2]).toEqual(seen[0]);
        const warm = boards.map((board) => board.read("a").coolingUntil || wire.clock.now());
        expect(Math.max(...warm) - Math.min(...warm)).toBeLessThanOrEqual(1_000);
      }),
      { numRuns: 600 },
    );
  });
});

/** A store that gets records, and hands them on, in any order and some twice; the higher version stays. */
class RandomWire {
  readonly clock = new VirtualClock();
  readonly #random: Random;
  readonly #listeners: ((key: string, record: BoardRecord) => void)[] = [];
  readonly #messages: { to: number | "store"; key: string; record: BoardRecord }[] = [];
  #version = 0;

  constructor(seed: number) {
    this.#random = chance(seed);
  }

  replica(id: number): SharedBoard {
    return {
      ...LONE_BOARD,
      publish: (key, record) => {
        this.#messages.push({ to: "store", key, record: JSON.parse(JSON.stringify(record)) as BoardRecord });
      },
      listen: (fn) => {
        this.#listeners[id] = fn;
        return () => {};
      },
    };
  }

  deliverSome(): void {
    if (this.#random.float() < 0.6) this.#deliver();
  }

  deliverAll(): void {
    for (let i = 0; this.#messages.length > 0; i++) {
      // Answers to answers have to end.
      expect(i).toBeLessThan(5_000);
      this.#deliver();
    }
  }

  #deliver(): void {
    const [message] = this.#messages.splice(Math.floor(this.#random.float() * this.#messages.length), 1);
    if (!message) return;
    if (this.#random.float() < 0.2) this.#messages.push(message);
    const { to, key, record } = message;
    if (to !== "store") return this.#listeners[to]?.(key, record);
    if (record.version <= this.#version) return;
    this.#version = record.version;
    for (let each = 0; each < this.#listeners.length; each++) this.#messages.push({ to: each, key, record });
  }
}
