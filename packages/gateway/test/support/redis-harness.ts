import { Redis } from "ioredis";
import { systemClock } from "../../src/core/clock.ts";
import { systemRandom } from "../../src/core/random.ts";
import { Secret } from "../../src/core/secret.ts";
import { RedisState, type RedisStateOptions } from "../../src/state/redis.ts";
import type { StateHarness } from "../../src/state/state.contract.ts";
import { until } from "./until.ts";

/** Where the time of ceilings is kept that a test drives. */
const NOW_KEY = "{sluicegate}:test:now";

/** A machine that is busy with other tests is no slow store. */
const PATIENCE_MS = 10_000;

/** A replica on a Redis, connected unless that takes over `connectMs`, that takes no slowness for a loss, unless it is told to. */
export async function redisReplica(
  url: string,
  given: Pick<Partial<RedisStateOptions>, "patienceMs" | "ceilingTime" | "onStanding"> = {},
  connectMs = 10_000,
): Promise<RedisState> {
  const options = { clock: systemClock, random: systemRandom(), patienceMs: PATIENCE_MS, ...given };
  const state = new RedisState({ url: new Secret(url, "test"), ...options });
  await state.connected(connectMs);
  return state;
}

/** Waits until what a replica has sent so far is done: its commands go over one connection, one after the other. */
export async function drained(state: RedisState): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  await state.board.lease("drained", 1);
}

/** A harness on an emptied Redis. `plain` is its address for a plain client: a cluster's node has one, too. */
export async function redisHarness(url: string, plain = url): Promise<StateHarness> {
  const admin = new Redis(plain);
  await admin.flushdb();
  let now = 1_000_000_000_000;
  await admin.set(NOW_KEY, now);
  const replicas: RedisState[] = [];
  return {
    async replica() {
      const state = await redisReplica(url, { ceilingTime: `tonumber(redis.call('GET', '${NOW_KEY}'))` });
      replicas.push(state);
      return state;
    },
    async pass(ms) {
      now += ms;
      await admin.set(NOW_KEY, now);
    },
    eventually: (what, ask) => until(what, ask),
    drained: (state) => drained(state as RedisState),
    async close() {
      await Promise.all(replicas.map((state) => state.close()));
      admin.disconnect();
    },
  };
}
