import { describe, expect, it } from "vitest";
import { drained, redisHarness, redisReplica } from "../../test/support/redis-harness.ts";
import {
  hasRedis,
  startRedis,
  startRedisCluster,
  startSentinel,
  type TestRedis,
} from "../../test/support/redis-server.ts";
import { until } from "../../test/support/until.ts";
import { ceilingOf, requestOf, stateContract } from "./state.contract.ts";

describe.skipIf(!hasRedis)("needs redis-server on the path", () => {
  let cluster: TestRedis | null = null;
  stateContract("state in a cluster of one node", async () => {
    cluster ??= await startRedisCluster();
    return redisHarness(cluster.url, `redis://127.0.0.1:${cluster.port}`);
  });
  it("ends the cluster", () => cluster?.kill());

  it("finds the master that sentinels know, in a database of its own", async () => {
    const [server, other] = [await startRedis(), await startRedis()];
    const sentinel = await startSentinel("mymaster", server);
    // The first one does not answer.
    await other.kill();
    const hosts = sentinel.url.replace("127.0.0.1", `127.0.0.1:${other.port},127.0.0.1`);
    const state = await redisReplica(`${hosts}/3`);
    expect(state.standing()).toBe("ok");
    const ceilings = [ceilingOf({ tpm: 10 })];
    expect(await state.reserve(requestOf("1", { tokens: 10, ceilings }))).toEqual({ ok: true });
    const direct = await redisReplica(`${server.url}/3`);
    expect(await direct.reserve(requestOf("2", { tokens: 10, ceilings }))).toMatchObject({ ok: false });
    const elsewhere = await redisReplica(server.url);
    expect(await elsewhere.reserve(requestOf("3", { tokens: 10, ceilings }))).toEqual({ ok: true });
    await Promise.all([state, direct, elsewhere].map((one) => one.close()));
    await sentinel.kill();
    await server.kill();
  });

  it("shows a wrong password to nobody, and says what is wrong", async () => {
    const server = await startRedis("--requirepass", "right");
    const said: unknown[] = [];
    const onStanding = (...told: unknown[]) => said.push(told);
    const url = server.url.replace("//", "//:p-wrong@");
    const state = await redisReplica(url, { onStanding }, 300);
    await until("it says why", () => state.problem === "WRONGPASS");
    expect(state.standing()).not.toBe("ok");
    expect(JSON.stringify([said, state, state.problem])).not.toContain("p-wrong");
    expect(state.reserve(requestOf("1", { ceilings: [ceilingOf({ rpm: 1 })] }))).toEqual({ ok: true });
    await state.close();
    const right = await redisReplica(server.url.replace("//", "//:right@"));
    expect(right.standing()).toBe("ok");
    await drained(right);
    await right.close();
    await server.kill();
  });
});
