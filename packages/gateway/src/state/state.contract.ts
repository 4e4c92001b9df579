import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Ceiling, Floor } from "../core/ceiling.ts";
import type { BoardRecord, ReserveRequest, ReserveResult, SharedState } from "./state.ts";

/** A store under test, and the time it goes by. */
export interface StateHarness {
  /** Another replica on the same store. */
  replica(): Promise<SharedState>;
  /** Moves the time of ceilings on. */
  pass(ms: number): Promise<void>;
  /** Asks until it is so, while time goes on. */
  eventually(what: string, ask: () => boolean | Promise<boolean>): Promise<void>;
  /** Waits until what a replica has sent is done. */
  drained(state: SharedState): Promise<void>;
  close(): Promise<void>;
}

/** A ceiling of a test: unlimited but for what is given. */
export function ceilingOf(given: Partial<Omit<Ceiling, "floors">> & { floors?: Record<string, Floor> } = {}): Ceiling {
  const { floors, ...rest } = given;
  const none = { rpm: null, tpm: null, concurrency: null };
  return { key: "k", scope: "deployment:d", ...none, ...rest, floors: new Map(Object.entries(floors ?? {})) };
}

/** A request of a test for all of some ceilings. */
export function requestOf(holder: string, given: Partial<ReserveRequest>): ReserveRequest {
  return { holder, tenant: "any", tokens: 0, inputTokens: 0, ceilings: [], leaseMs: 600_000, ...given };
}

/** What every implementation of SharedState keeps. */
export function stateContract(name: string, open: () => Promise<StateHarness>): void {
  describe(name, () => {
    let store: StateHarness;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());

    ceilingContract(() => store);
    reservedContract(() => store);
    sizeContract(() => store);
    slotContract(() => store);
    scheduleContract(() => store);
    floorContract(() => store);
    boardContract(() => store);
    replayContract(() => store);
  });
}

function ceilingContract(store: () => StateHarness): void {
  it("admits a full minute at once, then at the rate, and says when the next one fits", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ rpm: 3 })];
    const ask = (holder: string) => state.reserve(requestOf(holder, { ceilings }));
    for (const holder of ["1", "2", "3"]) expect(await ask(holder)).toEqual({ ok: true });
    const refusal = { ok: false, scope: "deployment:d", dimension: "requests", retryAfterMs: 20_000 };
    expect(await ask("4")).toEqual(refusal);
    await store().pass(19_999);
    expect(await ask("4")).toEqual({ ...refusal, retryAfterMs: 1 });
    await store().pass(1);
    expect(await ask("4")).toEqual({ ok: true });
    expect(await ask("5")).toEqual(refusal);
  });

  it("names the part that has to be waited for the longest", async () => {
    const state = await store().replica();
    const [model, account] = [ceilingOf({ rpm: 1, tpm: 60 }), ceilingOf({ key: "p", scope: "provider:p", tpm: 300 })];
    const ceilings = [account, model];
    await state.reserve(requestOf("1", { tokens: 10, ceilings }));
    const ask = (holder: string, tokens: number) => state.reserve(requestOf(holder, { tokens, ceilings }));
    expect(await ask("2", 60)).toMatchObject({ scope: "deployment:d", dimension: "requests", retryAfterMs: 60_000 });
    await store().pass(59_000);
    expect(await ask("3", 300)).toMatchObject({ scope: "deployment:d", dimension: "requests", retryAfterMs: 1_000 });
    await store().pass(1_000);
    expect(await ask("4", 300)).toEqual({ ok: true });
    expect(await ask("5", 150)).toMatchObject({ scope: "deployment:d", retryAfterMs: 60_000 });
    state.settle({ holder: "4", usedTokens: null });
    await store().drained(state);
    expect(await state.reserve(requestOf("6", { tokens: 300, ceilings: [account] }))).toEqual({ ok: true });
    expect(await ask("7", 250)).toMatchObject({ scope: "provider:p", dimension: "tokens", retryAfterMs: 50_000 });
  });

  it("takes nothing of any ceiling when one of them is full", async () => {
    const state = await store().replica();
    const [wide, narrow] = [
      ceilingOf({ key: "wide", rpm: 2, tpm: 100, concurrency: 2 }),
      ceilingOf({ key: "narrow", concurrency: 1, scope: "provider:p" }),
    ];
    expect(await state.reserve(requestOf("1", { ceilings: [narrow] }))).toEqual({ ok: true });
    for (const holder of ["2", "3", "4", "5"]) {
      const refused = await state.reserve(requestOf(holder, { tokens: 50, ceilings: [wide, narrow] }));
      expect(refused).toMatchObject({ ok: false, scope: "provider:p", dimension: "concurrency" });
    }
    // All of it is there: requests, tokens and slots.
    for (const holder of ["6", "7"]) {
      expect(await state.reserve(requestOf(holder, { tokens: 50, ceilings: [wide] }))).toEqual({ ok: true });
    }
    expect(await state.reserve(requestOf("8", { ceilings: [wide] }))).toMatchObject({ ok: false });
  });

  it("gives back exactly what was not used, once, and the request only when nothing was sent", async () => {
    const [state, other] = [await store().replica(), await store().replica()];
    const ceilings = [ceilingOf({ tpm: 1_000, rpm: 2 })];
    await state.reserve(requestOf("1", { tokens: 700, ceilings }));
    expect(await other.reserve(requestOf("2", { tokens: 301, ceilings }))).toMatchObject({ dimension: "tokens" });
    for (let i = 0; i < 3; i++) state.settle({ holder: "1", usedTokens: 500 });
    state.settle({ holder: "nobody", usedTokens: null });
    await store().drained(state);
    // 500 are left and one request.
    expect(await other.reserve(requestOf("3", { tokens: 501, ceilings }))).toMatchObject({ dimension: "tokens" });
    expect(await other.reserve(requestOf("4", { tokens: 500, ceilings }))).toEqual({ ok: true });
    expect(await state.reserve(requestOf("5", { ceilings }))).toMatchObject({ dimension: "requests" });
    other.settle({ holder: "4", usedTokens: null });
    await store().drained(other);
    expect(await state.reserve(requestOf("6", { tokens: 500, ceilings }))).toEqual({ ok: true });
  });
}

function reservedContract(store: () => StateHarness): void {
  it("knows the tokens that its own calls hold, and no longer than they run", async () => {
    const [state, other] = [await store().replica(), await store().replica()];
    const ceilings = [ceilingOf({ tpm: 1_000 }), ceilingOf({ key: "p", tpm: 2_000 })];
    await state.reserve(requestOf("1", { tokens: 300, ceilings }));
    await state.reserve(requestOf("2", { tokens: 200, ceilings }));
    await state.reserve(requestOf("2", { tokens: 200, ceilings }));
    expect(await state.reserve(requestOf("3", { tokens: 900, ceilings }))).toMatchObject({ ok: false });
    await state.reserve(requestOf("4", { tokens: 70, ceilings: [ceilingOf({ key: "slots", concurrency: 1 })] }));
    expect([state.reservedTokens(), other.reservedTokens()]).toEqual([500, 0]);
    state.settle({ holder: "1", usedTokens: 40 });
    expect(state.reservedTokens()).toBe(200);
    for (const usedTokens of [null, 10]) state.settle({ holder: "2", usedTokens });
    expect(state.reservedTokens()).toBe(0);
  });
}

function sizeContract(store: () => StateHarness): void {
  it("keeps debts, at most one bucket deep", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ tpm: 600 })];
    await state.reserve(requestOf("1", { tokens: 600, ceilings }));
    state.settle({ holder: "1", usedTokens: 1_000_000 });
    await store().drained(state);
    const refused = await state.reserve(requestOf("2", { tokens: 10, ceilings }));
    expect(refused).toMatchObject({ dimension: "tokens", retryAfterMs: 61_000 });
    await store().pass(61_000);
    expect(await state.reserve(requestOf("2", { tokens: 10, ceilings }))).toEqual({ ok: true });
  });

  it("refuses for good what no bucket holds, and lets what is only reserved too large run alone", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ tpm: 600 })];
    const ask = (holder: string, tokens: number, inputTokens: number) =>
      state.reserve(requestOf(holder, { tokens, inputTokens, ceilings }));
    expect(await ask("1", 900, 601)).toMatchObject({ ok: false, tooLarge: true, dimension: "tokens" });
    await ask("2", 6, 6);
    expect(await ask("3", 5_000, 600)).toEqual({
      ...{ ok: false, scope: "deployment:d", dimension: "tokens", retryAfterMs: 600 },
    });
    await store().pass(600);
    expect(await ask("3", 5_000, 600)).toEqual({ ok: true });
    expect(await ask("4", 1, 1)).toMatchObject({ ok: false, retryAfterMs: 100 });
    state.settle({ holder: "3", usedTokens: 500 });
    await store().drained(state);
    expect(await ask("5", 100, 1)).toEqual({ ok: true });
  });
}

function slotContract(store: () => StateHarness): void {
  it("frees a slot when its call ends, and when its replica was never heard of again", async () => {
    const [state, other] = [await store().replica(), await store().replica()];
    const ceilings = [ceilingOf({ concurrency: 2 })];
    await state.reserve(requestOf("1", { ceilings, leaseMs: 5_000 }));
    await state.reserve(requestOf("2", { ceilings, leaseMs: 60_000 }));
    expect(await other.reserve(requestOf("3", { ceilings }))).toMatchObject({ dimension: "concurrency" });
    expect(state.used(ceilings[0] as Ceiling)).toBe(1);
    await store().pass(5_001);
    expect(await other.reserve(requestOf("3", { ceilings }))).toEqual({ ok: true });
    expect(await other.reserve(requestOf("4", { ceilings }))).toMatchObject({ ok: false });
    state.settle({ holder: "2", usedTokens: 0 });
    await store().drained(state);
    expect(await other.reserve(requestOf("4", { ceilings }))).toEqual({ ok: true });
  });

  it("answers a holder that asks again as the first time", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ rpm: 2, concurrency: 1 })];
    for (let i = 0; i < 5; i++) expect(await state.reserve(requestOf("1", { ceilings }))).toEqual({ ok: true });
    state.settle({ holder: "1", usedTokens: 0 });
    await store().drained(state);
    expect(await state.reserve(requestOf("2", { ceilings }))).toEqual({ ok: true });
  });
}

function scheduleContract(store: () => StateHarness): void {
  it("replicas together admit no more than there is, however they come", async () => {
    const replicas = await Promise.all(Array.from({ length: 4 }, () => store().replica()));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          rpm: fc.integer({ min: 1, max: 12 }),
          tpm: fc.integer({ min: 50, max: 400 }),
          concurrency: fc.integer({ min: 1, max: 9 }),
        }),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 90 })), {
          minLength: 10,
          maxLength: 40,
        }),
        async (sizes, asks) => {
          const id = ++run;
          const ceiling = ceilingOf({ key: `race-${id}`, ...sizes });
          const got = await Promise.all(
            asks.map(async ([who, tokens], i) => {
              const answer = await replicas[who]?.reserve(
                requestOf(`${id}.${i}`, { tokens, inputTokens: 0, ceilings: [ceiling] }),
              );
              return { tokens: Math.min(tokens, sizes.tpm), ok: answer?.ok === true };
            }),
          );
          const admitted = got.filter(({ ok }) => ok);
          const spent = admitted.reduce((sum, { tokens }) => sum + tokens, 0);
          expect(admitted.length).toBeLessThanOrEqual(Math.min(sizes.rpm, sizes.concurrency));
          expect(spent).toBeLessThanOrEqual(sizes.tpm);
          // Nothing that would have fitted at the end was refused.
          const full = admitted.length === Math.min(sizes.rpm, sizes.concurrency);
          if (!full) for (const { ok, tokens } of got) expect(ok || tokens > sizes.tpm - spent).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("what was refused has changed nothing: without it the rest comes out the same", async () => {
    const state = await store().replica();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(schedules, async (steps) => {
        const id = ++run;
        const first = await play(store(), state, steps, `${id}.a`);
        const kept = steps.filter((step, i) => step.kind !== "reserve" || first[i]?.ok === true);
        const again = await play(store(), state, kept, `${id}.b`);
        expect(again.filter((result) => result !== null)).toEqual(
          first.filter((result): result is { ok: true } => result?.ok === true),
        );
      }),
      { numRuns: 25 },
    );
  });
}

/** What happens to two ceilings, one of them with floors. */
export type Step =
  | { kind: "pass"; ms: number }
  | { kind: "reserve"; tenant: string; tokens: number; inputTokens: number; both: boolean }
  | { kind: "settle"; which: number; usedTokens: number | null };

/** Schedules of steps. */
export const schedules: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 9_000 }) }) },
    {
      weight: 6,
      arbitrary: fc
        .record({
          kind: fc.constant("reserve" as const),
          tenant: fc.constantFrom("noisy", "sure", "tiny"),
          tokens: fc.integer({ min: 0, max: 800 }),
          part: fc.double({ min: 0, max: 1, noNaN: true }),
          both: fc.boolean(),
        })
        .map(({ part, ...step }) => ({ ...step, inputTokens: Math.floor(step.tokens * part) })),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("settle" as const),
        which: fc.nat({ max: 30 }),
        usedTokens: fc.option(fc.integer({ min: 0, max: 1_500 })),
      }),
    },
  ),
  { minLength: 5, maxLength: 40 },
);

/** Plays a schedule on ceilings of its own, one step after the other; null for steps that have no result. */
export async function play(
  store: Pick<StateHarness, "pass" | "drained">,
  state: SharedState,
  steps: readonly Step[],
  id: string,
): Promise<(ReserveResult | null)[]> {
  const floors = { sure: { rpm: 2, tpm: 300 }, tiny: { rpm: null, tpm: 7 } };
  const model = ceilingOf({ key: `m-${id}`, rpm: 7, tpm: 1_000, concurrency: 3, floors });
  const account = ceilingOf({ key: `p-${id}`, scope: "provider:p", tpm: 1_300, rpm: 11 });
  const holders: string[] = [];
  const results: (ReserveResult | null)[] = [];
  for (const step of steps) {
    results.push(null);
    if (step.kind === "pass") await store.pass(step.ms);
    if (step.kind === "settle") {
      const holder = holders[step.which];
      if (holder !== undefined) state.settle({ holder, usedTokens: step.usedTokens });
      await store.drained(state);
    }
    if (step.kind === "reserve") {
      const { tenant, tokens, inputTokens } = step;
      const holder = `${id}.${holders.length}`;
      const ceilings = step.both ? [model, account] : [model];
      const answer = await state.reserve(requestOf(holder, { tenant, tokens, inputTokens, ceilings }));
      results[results.length - 1] = answer;
      if (answer.ok) holders.push(holder);
    }
  }
  return results;
}

function floorContract(store: () => StateHarness): void {
  it("a tenant gets its floor while another one takes all it can", async () => {
    const state = await store().replica();
    const floors = { sure: { rpm: 6, tpm: 600 } };
    const ceilings = [ceilingOf({ rpm: 60, tpm: 6_000, floors })];
    const counts = { noisy: 0, sure: 0 };
    const ask = async (tenant: "noisy" | "sure", i: number) => {
      const request = requestOf(`${tenant}.${i}`, { tenant, tokens: 100, inputTokens: 1, ceilings });
      const { ok } = await state.reserve(request);
      if (ok) counts[tenant]++;
      return ok;
    };
    let n = 0;
    for (let second = 0; second < 120; second++) {
      for (let i = 0; i < 3; i++) await ask("noisy", ++n);
      // Its own rate: one in ten seconds. Every one of them comes through.
      if (second % 10 === 9) expect(await ask("sure", ++n)).toBe(true);
      await store().pass(1_000);
    }
    expect(counts.sure).toBe(12);
    // The rest of the ceiling, and no more: 54 at once and 54 a minute.
    expect(counts.noisy).toBeGreaterThanOrEqual(160);
    expect(counts.noisy).toBeLessThanOrEqual(162);
  });

  it("a tenant with a floor may use the shared rest as well, and owes on its own account first", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ tpm: 600, floors: { sure: { rpm: null, tpm: 100 } } })];
    const ask = (holder: string, tenant: string, tokens: number) =>
      state.reserve(requestOf(holder, { tenant, tokens, ceilings }));
    expect(await ask("1", "sure", 600)).toEqual({ ok: true });
    expect(await ask("2", "other", 1)).toMatchObject({ ok: false });
    state.settle({ holder: "1", usedTokens: 650 });
    await store().drained(state);
    // Its own bucket is 50 down; what the others share is not.
    await store().pass(1_200);
    expect(await ask("3", "other", 10)).toEqual({ ok: true });
    expect(await ask("4", "sure", 1)).toMatchObject({ ok: false });
    await store().pass(60_000);
    expect(await ask("5", "sure", 540)).toEqual({ ok: true });
  });

  it("what others owe does not touch a floor", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ tpm: 600, floors: { sure: { rpm: null, tpm: 100 } } })];
    await state.reserve(requestOf("1", { tenant: "noisy", tokens: 500, ceilings }));
    state.settle({ holder: "1", usedTokens: 900 });
    await store().drained(state);
    expect(await state.reserve(requestOf("2", { tenant: "sure", tokens: 100, ceilings }))).toEqual({ ok: true });
    expect(await state.reserve(requestOf("3", { tenant: "sure", tokens: 1, ceilings }))).toMatchObject({ ok: false });
  });

  it("where floors leave nothing, only those with a floor come in", async () => {
    const state = await store().replica();
    const ceilings = [ceilingOf({ rpm: 2, tpm: 100, floors: { sure: { rpm: 2, tpm: 100 } } })];
    const refused = await state.reserve(requestOf("1", { tenant: "other", tokens: 5, inputTokens: 5, ceilings }));
    expect(refused).toMatchObject({ ok: false });
    expect(refused).not.toHaveProperty("tooLarge");
    expect(await state.reserve(requestOf("2", { tenant: "sure", tokens: 5, ceilings }))).toEqual({ ok: true });
  });
}

interface TestRecord extends BoardRecord {
  says: string;
}

function boardContract(store: () => StateHarness): void {
  it("tells every replica what one publishes, also those that come later", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    const heard = new Map<string, string>();
    b.board.listen((key, record) => heard.set(key, (record as TestRecord).says));
    const record: TestRecord = { version: 3, says: "open" };
    a.board.publish("d1", record);
    await store().eventually("the other one hears it", () => heard.get("d1") === "open");
    const late = await store().replica();
    const known = new Map<string, BoardRecord | null>();
    late.board.listen((key, told) => known.set(key, told));
    await store().eventually("a later one hears it", () => known.has("d1"));
    expect(known.get("d1")).toEqual(record);
  });

  it("keeps the later version, whoever is late", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    const heard = [a, b].map((state) => {
      const said: string[] = [];
      state.board.listen((_, record) => said.push((record as TestRecord).says));
      return said;
    });
    a.board.publish("d", { version: 5, says: "new" } as TestRecord);
    await store().eventually("both hear it", () => heard.every((said) => said.at(-1) === "new"));
    b.board.publish("d", { version: 4, says: "old" } as TestRecord);
    b.board.publish("d", { version: 6, says: "newest" } as TestRecord);
    await store().eventually("both hear the last", () => heard.every((said) => said.at(-1) === "newest"));
    expect(heard.flat()).not.toContain("old");
  });

  it("tells one that comes with an old version what it has missed", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    const told: BoardRecord[] = [];
    a.board.publish("d", { version: 9 });
    b.board.publish("d", { version: 2 });
    b.board.listen((_, record) => record && told.push(record));
    await store().eventually("it hears the later one", () => told.at(-1)?.version === 9);
    const late = await store().replica();
    late.board.listen((_, record) => record && told.push(record));
    await store().eventually("the later one has stayed", () => told.length > 1 && told.at(-1)?.version === 9);
  });

  it("does not call back in the middle of publishing, nor after listening has ended", async () => {
    const state = await store().replica();
    let calls = 0;
    const end = state.board.listen(() => calls++);
    state.board.publish("d", { version: 1 });
    expect(calls).toBe(0);
    await store().eventually("it is told", () => calls === 1);
    state.board.publish("d", { version: 2 });
    end();
    await store().drained(state);
    expect(calls).toBe(1);
  });

  it("of many that want a name exactly one gets it; its holder may hold on; given back it is free", async () => {
    const replicas = await Promise.all(Array.from({ length: 20 }, () => store().replica()));
    const got = await Promise.all(replicas.map((state) => state.board.lease("probe:d", 60_000)));
    expect(got.filter(Boolean)).toHaveLength(1);
    const holder = replicas[got.indexOf(true)] as SharedState;
    const other = replicas[got.indexOf(false)] as SharedState;
    expect(await holder.board.lease("probe:d", 60_000)).toBe(true);
    other.board.release("probe:d");
    await store().drained(other);
    expect(await other.board.lease("probe:d", 60_000)).toBe(false);
    holder.board.release("probe:d");
    await store().drained(holder);
    expect(await other.board.lease("probe:d", 60_000)).toBe(true);
    expect(await holder.board.lease("another", 60_000)).toBe(true);
  });

  it("a name comes free when its time is over", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    expect(await a.board.lease("n", 150)).toBe(true);
    await store().eventually("it is free", () => b.board.lease("n", 60_000));
    expect(await a.board.lease("n", 60_000)).toBe(false);
  });
}

function replayContract(store: () => StateHarness): void {
  it("gives a key to the first, and its answer to the rest", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    const [first, second] = await Promise.all([
      a.replays.claim("key", "h", 60_000),
      b.replays.claim("key", "h2", 60_000),
    ]);
    const [mine, other] = first.state === "mine" ? [first, second] : [second, first];
    expect(other).toEqual({ state: "running", bodyHash: first === mine ? "h" : "h2" });
    if (mine.state !== "mine") throw new Error("nobody got it");
    let told = 0;
    b.replays.watch("key", () => told++);
    const answer = Buffer.from([0, 255, 13, 10, 128]);
    mine.run.complete(answer, 600_000);
    mine.run.forget();
    await store().eventually("watchers are told", () => told === 1);
    const done = await b.replays.claim("key", "h", 60_000);
    expect(done).toEqual({ state: "done", bodyHash: first === mine ? "h" : "h2", answer });
    expect(told).toBe(1);
  });

  it("remembers no failures, and no answers that are too large", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    for (const end of ["forget", "large"] as const) {
      const claim = await a.replays.claim("key", "h", 60_000);
      if (claim.state !== "mine") throw new Error(`${end}: not free`);
      let told = false;
      b.replays.watch("key", () => {
        told = true;
      });
      if (end === "forget") claim.run.forget();
      else claim.run.complete(Buffer.alloc(2 * 1024 * 1024), 600_000);
      await store().eventually("watchers are told", () => told);
    }
    expect(await b.replays.claim("key", "other", 60_000)).toMatchObject({ state: "mine" });
  });

  it("a claim whose replica is gone runs out, its watchers are told, and it answers no more", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    const lost = await a.replays.claim("key", "h", 100);
    if (lost.state !== "mine") throw new Error("not free");
    let told = false;
    b.replays.watch("key", () => {
      told = true;
    });
    await store().eventually("watchers are told", () => told);
    const next = await b.replays.claim("key", "h2", 60_000);
    expect(next.state).toBe("mine");
    lost.run.complete(Buffer.from("stale"), 600_000);
    lost.run.forget();
    lost.run.renew(1);
    await store().drained(a);
    expect(await b.replays.claim("key", "h2", 60_000)).toEqual({ state: "running", bodyHash: "h2" });
  });

  it("a claim that is renewed does not run out; who watches what has ended is told at once", async () => {
    const [a, b] = [await store().replica(), await store().replica()];
    const claim = await a.replays.claim("key", "h", 150);
    if (claim.state !== "mine") throw new Error("not free");
    claim.run.renew(60_000);
    await a.board.lease("a", 150);
    await store().eventually("its time is over", () => b.board.lease("a", 60_000));
    expect(await b.replays.claim("key", "h", 60_000)).toMatchObject({ state: "running" });
    claim.run.complete(Buffer.from("yes"), 600_000);
    await store().drained(a);
    let told = false;
    b.replays.watch("key", () => {
      told = true;
    });
    await store().eventually("watchers are told", () => told);
    const end = b.replays.watch("key", () => expect.unreachable());
    end();
    await store().drained(b);
  });
}
