import { afterAll, beforeAll, describe } from "vitest";
import { redisHarness } from "../../test/support/redis-harness.ts";
import { hasRedis, startRedis, type TestRedis } from "../../test/support/redis-server.ts";
import { stateContract } from "./state.contract.ts";

const given = process.env["SLUICEGATE_TEST_REDIS_URL"];

describe.skipIf(given === undefined && !hasRedis)(
  "needs redis-server on the path, or SLUICEGATE_TEST_REDIS_URL",
  () => {
    let server: TestRedis | null = null;
    beforeAll(async () => {
      if (given === undefined) server = await startRedis();
    });
    afterAll(() => server?.kill());

    stateContract("state in Redis", () => redisHarness(given ?? server?.url ?? ""));
  },
);
