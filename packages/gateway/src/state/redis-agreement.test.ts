import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redisHarness } from "../../test/support/redis-harness.ts";
import { hasRedis, startRedis } from "../../test/support/redis-server.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { memoryState } from "./memory.ts";
import { play, schedules } from "./state.contract.ts";

describe.skipIf(!hasRedis)("needs redis-server on the path", () => {
  it("memory and Redis answer every step of every schedule alike, to the millisecond", async () => {
    const server = await startRedis();
    const store = await redisHarness(server.url);
    const state = await store.replica();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(schedules, async (steps) => {
        const id = `${++run}`;
        const clock = new VirtualClock();
        const memory = await play(
          { pass: async (ms) => clock.advance(ms), drained: async () => {} },
          memoryState(clock),
          steps,
          id,
        );
        expect(await play(store, state, steps, id)).toEqual(memory);
      }),
      { numRuns: 100 },
    );
    await store.close();
    await server.kill();
  });
});
