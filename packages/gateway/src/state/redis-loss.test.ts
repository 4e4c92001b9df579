import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { drained, redisReplica } from "../../test/support/redis-harness.ts";
import { hasRedis, startRedis, type TestRedis } from "../../test/support/redis-server.ts";
import { type StallingProxy, stallingProxy } from "../../test/support/stalling-proxy.ts";
import { until } from "../../test/support/until.ts";
import { redisKey } from "./script.ts";
import { ceilingOf, requestOf } from "./state.contract.ts";
import type { BoardRecord, SharedState } from "./state.ts";

/** As the gateway has it. */
const PATIENCE = { patienceMs: 50 };

describe.skipIf(!hasRedis)("needs redis-server on the path", () => {
  let server: TestRedis;
  let admin: Redis;
  const open: { close(): Promise<void> }[] = [];
  const opened = <T extends { close(): Promise<void> }>(one: T): T => {
    open.push(one);
    return one;
  };

  beforeEach(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    admin.on("error", () => {});
  });
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
    admin.disconnect();
    await server.kill();
  });

  const isOk = (state: SharedState) => () => state.standing() === "ok";
  const records = (state: SharedState): Map<string, BoardRecord | null> => {
    const heard = new Map<string, BoardRecord | null>();
    state.board.listen((key, record) => heard.set(key, record));
    return heard;
  };

  it("starts without the store, and uses it once it is there", async () => {
    await server.kill();
    const standings: string[] = [];
    const state = opened(
      await redisReplica(server.url, { ...PATIENCE, onStanding: (now) => standings.push(now) }, 200),
    );
    expect(state.standing()).toBe("down");
    expect(state.problem).toBe("ECONNREFUSED");
    const ceilings = [ceilingOf({ concurrency: 1 })];
    // Answered at once: there is nobody to wait for.
    expect(state.reserve(requestOf("1", { ceilings }))).toEqual({ ok: true });
    expect(state.reserve(requestOf("2", { ceilings }))).toMatchObject({ ok: false, dimension: "concurrency" });
    expect(await state.board.lease("n", 1_000)).toBe(true);
    state.board.publish("d", { version: 1 });
    await server.start();
    await until("it is connected", isOk(state));
    await until("it says so", () => standings.at(-1) === "ok");
    // What happened before is in the store now: the slot that is held, and the record.
    await until("the slot is known", async () => (await admin.zcard(redisKey("slots", "k"))) === 1);
    const other = opened(await redisReplica(server.url));
    const heard = records(other);
    await until("the record is known", () => heard.has("d"));
    expect(await other.reserve(requestOf("3", { ceilings }))).toMatchObject({ ok: false, dimension: "concurrency" });
    state.settle({ holder: "1", usedTokens: 5 });
    await drained(state);
    expect(await other.reserve(requestOf("3", { ceilings }))).toEqual({ ok: true });
  });

  it("goes on when the store is killed, and heals when it is started again, empty", async () => {
    const [a, b] = [opened(await redisReplica(server.url)), opened(await redisReplica(server.url))];
    const heard = records(b);
    a.board.publish("before", { version: 7 });
    await until("b has heard", () => heard.has("before"));
    // Slow enough that nothing to speak of fills up during the test.
    const slow = [ceilingOf({ key: "slow", tpm: 3 })];
    expect(await a.reserve(requestOf("1", { tokens: 3, ceilings: slow }))).toEqual({ ok: true });
    expect(await a.reserve(requestOf("held", { tokens: 100, ceilings: [ceilingOf({ concurrency: 3 })] }))).toEqual({
      ok: true,
    });
    await server.kill();
    await until("both know", () => a.standing() === "down" && b.standing() === "down");
    expect(a.reserve(requestOf("2", { tokens: 3, ceilings: slow }))).toMatchObject({ ok: false, dimension: "tokens" });
    b.board.publish("during", { version: 1 });
    a.settle({ holder: "1", usedTokens: 3 });
    a.settle({ holder: "1", usedTokens: 0 });
    expect(await a.replays.claim("key", "h", 1_000)).toMatchObject({ state: "mine" });
    await server.start();
    await until("both are back", () => a.standing() === "ok" && b.standing() === "ok");
    const fresh = opened(await redisReplica(server.url));
    const known = records(fresh);
    await until("everything is known again", () => known.has("before") && known.has("during"));
    // The new store does not give what was used already once more, and knows who holds a slot.
    await until("the slot is known", async () => (await admin.zcard(redisKey("slots", "k"))) === 1);
    expect(await fresh.reserve(requestOf("3", { tokens: 3, ceilings: slow }))).toMatchObject({ ok: false });
  });

  it("heals when everything was flushed", async () => {
    const [a, b] = [opened(await redisReplica(server.url)), opened(await redisReplica(server.url))];
    const ceilings = [ceilingOf({ tpm: 2, concurrency: 5 })];
    expect(await a.reserve(requestOf("1", { tokens: 2, ceilings }))).toEqual({ ok: true });
    a.board.publish("d", { version: 4 });
    await drained(a);
    await admin.flushall();
    await until("the record is back", () => admin.hexists(redisKey("board"), "k:d"));
    await until("the slot is back", async () => (await admin.zcard(redisKey("slots", "k"))) === 1);
    expect(await b.reserve(requestOf("2", { tokens: 2, ceilings }))).toMatchObject({ ok: false, dimension: "tokens" });
  });

  it("runs its scripts after the server has forgotten them", async () => {
    const state = opened(await redisReplica(server.url));
    const ceilings = [ceilingOf({ tpm: 10 })];
    expect(await state.reserve(requestOf("1", { tokens: 5, ceilings }))).toEqual({ ok: true });
    await admin.script("FLUSH");
    expect(await state.reserve(requestOf("2", { tokens: 4, ceilings }))).toEqual({ ok: true });
    await admin.script("FLUSH");
    state.settle({ holder: "1", usedTokens: 0 });
    await drained(state);
    expect(Number(await admin.hget(redisKey("ceiling", "k"), "t"))).toBeCloseTo(6, 0);
  });

  it("replicas that lost the store divide what was left, and the store hears what they took", async () => {
    const [a, b] = [opened(await redisReplica(server.url)), opened(await redisReplica(server.url))];
    const ceilings = [ceilingOf({ tpm: 20 })];
    const scores = async () =>
      (await admin.zrange(redisKey("replicas"), 0, -1, "WITHSCORES")).filter((_, i) => i % 2 === 1);
    const first = Math.max(...(await scores()).map(Number));
    await until(
      "each has counted both",
      async () => (await scores()).length === 2 && (await scores()).every((at) => Number(at) > first),
    );
    await drained(a);
    await drained(b);
    expect(await a.reserve(requestOf("a", { tokens: 1, ceilings }))).toEqual({ ok: true });
    expect(await b.reserve(requestOf("b", { tokens: 1, ceilings }))).toEqual({ ok: true });
    await server.kill();
    await until("both know", () => a.standing() === "down" && b.standing() === "down");
    let taken = 0;
    for (const [name, state] of [
      ["a", a],
      ["b", b],
    ] as const) {
      for (let i = 0; i < 20; i++) {
        if ((state.reserve(requestOf(`${name}.${i}`, { tokens: 1, ceilings })) as { ok: boolean }).ok) taken++;
      }
    }
    // 18 or 19 were left as each last knew; both halves, and what filled up since (20 a minute).
    expect(taken).toBeGreaterThanOrEqual(17);
    expect(taken).toBeLessThanOrEqual(20);
    await server.start();
    await until("both are back", () => a.standing() === "ok" && b.standing() === "ok");
    await drained(a);
    await drained(b);
    expect(Number(await admin.hget(redisKey("ceiling", "k"), "t"))).toBeLessThan(5);
  });

  describe("a store that answers late", () => {
    let proxy: StallingProxy;
    let url: string;
    beforeEach(async () => {
      proxy = opened(await stallingProxy(server.port));
      url = `redis://127.0.0.1:${proxy.port}`;
    });

    it("is not waited for: calls are answered here, in the end at once, until it answers again", async () => {
      const state = opened(await redisReplica(url, PATIENCE));
      await until("it is used", isOk(state));
      const ceilings = [ceilingOf({ concurrency: 1_000 })];
      proxy.stall("both");
      let calls = 0;
      await until("it is left alone", async () => {
        expect(await state.reserve(requestOf(`${++calls}`, { ceilings }))).toEqual({ ok: true });
        return state.standing() === "degraded";
      });
      // Here and now, not in a promise.
      expect(state.reserve(requestOf("now", { ceilings }))).toEqual({ ok: true });
      expect(await state.board.lease("n", 1_000)).toBe(true);
      expect(await state.replays.claim("key", "h", 1_000)).toMatchObject({ state: "mine" });
      proxy.resume();
      await until("it is used again", isOk(state));
      // Every call is in the store's books, also those whose fate was not known.
      await until("they are told", async () => (await admin.zcard(redisKey("slots", "k"))) >= calls);
      for (let i = 1; i <= calls; i++) state.settle({ holder: `${i}`, usedTokens: 0 });
      state.settle({ holder: "now", usedTokens: 0 });
      await until("all slots are free", async () => (await admin.zcard(redisKey("slots", "k"))) === 0);
    });

    it("keeps the places of calls whose fate was not known, however often it is late", async () => {
      const state = opened(await redisReplica(url, PATIENCE));
      await until("it is used", isOk(state));
      const ceilings = [ceilingOf({ concurrency: 1_000 })];
      const slots = () => admin.zcard(redisKey("slots", "k"));
      let calls = 0;
      // The second time all scripts are known there, and nothing is asked twice.
      for (const _ of ["first", "second"]) {
        proxy.stall("answers");
        await until("it is left alone", async () => {
          expect(await state.reserve(requestOf(`${++calls}`, { ceilings }))).toEqual({ ok: true });
          return state.standing() === "degraded";
        });
        proxy.resume();
        await until("it is used again", isOk(state));
        await until("the calls are told", async () => (await slots()) >= calls);
        await drained(state);
        expect(await slots()).toBe(calls);
      }
      for (let i = 1; i <= calls; i++) state.settle({ holder: `${i}`, usedTokens: 0 });
      await until("all slots are free", async () => (await slots()) === 0);
    });

    it("is left alone when it answers, always too late", async () => {
      const state = opened(await redisReplica(url, PATIENCE));
      await until("it is used", isOk(state));
      proxy.delay(150);
      const ceilings = [ceilingOf({ concurrency: 1_000 })];
      let calls = 0;
      await until("it is left alone", async () => {
        const before = proxy.answers();
        expect(await state.reserve(requestOf(`${++calls}`, { ceilings }))).toEqual({ ok: true });
        await until("the late answer has come", () => proxy.answers() > before);
        return state.standing() === "degraded";
      });
      // Three in a row, and what came too late counts for nothing.
      expect(calls).toBeLessThanOrEqual(4);
      proxy.resume();
      await until("it is used again", isOk(state));
    });

    it("may have heard of an end: the slot is freed again, tokens are given back once", async () => {
      const state = opened(await redisReplica(url, PATIENCE));
      await until("it is used", isOk(state));
      const ceilings = [ceilingOf({ tpm: 6_000, concurrency: 10 })];
      const tokens = async () => Number(await admin.hget(redisKey("ceiling", "k"), "t"));
      for (const holder of ["1", "2"]) await state.reserve(requestOf(holder, { tokens: 3_000, ceilings }));
      state.settle({ holder: "1", usedTokens: 3_000 });
      await drained(state);
      proxy.stall("answers");
      state.settle({ holder: "2", usedTokens: 1_000 });
      await until("the store has heard it", async () => (await tokens()) > 1_990);
      await admin.config("RESETSTAT");
      await until("it is left alone", () => state.standing() === "degraded");
      proxy.resume();
      await until("it is told again", async () => (await admin.info("commandstats")).includes("cmdstat_zrem:"));
      expect(await tokens()).toBeLessThan(3_000);
    });

    it("may have done what it was asked: its slot is freed all the same", async () => {
      const state = opened(await redisReplica(url, PATIENCE));
      await until("it is used", isOk(state));
      const ceilings = [ceilingOf({ tpm: 1_000, concurrency: 10 })];
      // The script is known there by then: it is run by its hash.
      expect(await state.reserve(requestOf("0", { ceilings: [ceilingOf({ key: "other", rpm: 1 })] }))).toEqual({
        ok: true,
      });
      proxy.stall("answers");
      expect(await state.reserve(requestOf("1", { tokens: 10, ceilings }))).toEqual({ ok: true });
      await until("the store has done it", async () => (await admin.hget(redisKey("ceiling", "k"), "t")) !== null);
      state.settle({ holder: "1", usedTokens: 10 });
      proxy.resume();
      await until("the slot is free", async () => (await admin.zcard(redisKey("slots", "k"))) === 0);
    });

    it("makes a new connection when nothing comes over the old one any more", async () => {
      const state = opened(await redisReplica(url, PATIENCE));
      await until("it is used", isOk(state));
      const before = proxy.connections();
      proxy.stall("both");
      await until("it tries another one", () => proxy.connections() > before, 15_000);
    });
  });

  it("hears by looking what it has missed by message", async () => {
    const [a, b] = [opened(await redisReplica(server.url)), opened(await redisReplica(server.url))];
    const heard = records(b);
    // A record that no message tells of.
    await admin
      .multi()
      .hset(redisKey("board"), "k:quiet", `3 ${JSON.stringify({ version: 3 })}`)
      .hincrby(redisKey("board"), "rev", 1)
      .exec();
    await until("b has seen it", () => heard.has("quiet"));
    await admin.client("KILL", "TYPE", "pubsub");
    a.board.publish("d", { version: 1 });
    await until("b has heard it", () => heard.has("d"));
  });

  it("does not write over a later record it has not heard of, and hears of it", async () => {
    const state = opened(await redisReplica(server.url));
    const later = `9 ${JSON.stringify({ version: 9 })}`;
    // Nothing tells of it.
    await admin.hset(redisKey("board"), "k:d", later);
    const heard = records(state);
    state.board.publish("d", { version: 2 });
    await until("it is heard", () => heard.get("d")?.version === 9);
    expect(await admin.hget(redisKey("board"), "k:d")).toBe(later);
  });

  it("lives with what another version or a hand has written", async () => {
    await admin.hset(redisKey("board"), {
      "k:odd": "not json",
      "k:none": "1 null",
      "k:good": '2 {"version":2,"more":{}}',
    });
    const state = opened(await redisReplica(server.url));
    const heard = records(state);
    await until("the good one is heard", () => heard.has("good"));
    await admin.publish(redisKey("board", "changed"), "nonsense");
    await admin.publish(redisKey("board", "changed"), "9 {}");
    state.board.publish("odd", { version: 1 });
    await until("it is written over", async () => (await admin.hget(redisKey("board"), "k:odd"))?.includes("version"));
    expect([...heard.keys()].sort()).toEqual(["good", "odd"]);
    expect(state.standing()).toBe("ok");
  });

  it("everything it keeps ends by itself", async () => {
    const state = opened(await redisReplica(server.url));
    const ceilings = [ceilingOf({ tpm: 10, concurrency: 2, floors: { t: { rpm: null, tpm: 2 } } })];
    await state.reserve(requestOf("1", { tenant: "t", tokens: 5, ceilings }));
    await state.board.lease("n", 5_000);
    state.board.publish("d", { version: 1 });
    const claim = await state.replays.claim("key", "h", 5_000);
    if (claim.state === "mine") claim.run.complete(Buffer.from("x"), 5_000);
    await drained(state);
    const keys = await admin.keys("*");
    expect(keys.length).toBeGreaterThanOrEqual(5);
    for (const key of keys) {
      expect(key).toMatch(/^\{sluicegate\}:v1:/);
      // -1: for ever; -2: it has ended meanwhile.
      expect(await admin.pttl(key), key).not.toBe(-1);
    }
  });
});
