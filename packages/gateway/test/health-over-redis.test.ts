import { afterEach, describe, expect, it } from "vitest";
import { boardOf } from "../src/build-calm.ts";
import { HealthBoard } from "../src/resilience/health-board.ts";
import type { Permit } from "../src/resilience/permit.ts";
import { BREAKER, call, chance, outcome } from "./support/health-boards.ts";
import { redisReplica } from "./support/redis-harness.ts";
import { hasRedis, startRedis, type TestRedis } from "./support/redis-server.ts";
import { until } from "./support/until.ts";
import { VirtualClock } from "./support/virtual-clock.ts";

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Replicas whose own time a test drives, on a Redis that has its own. */
async function replicasOn(redis: TestRedis, count: number) {
  const clock = new VirtualClock();
  const states = await Promise.all(Array.from({ length: count }, () => redisReplica(redis.url)));
  const boards = states.map((state, index) => {
    const board = new HealthBoard({ clock, random: chance(index + 1), shared: boardOf(state) });
    board.follow(new Map([["a", BREAKER]]));
    closers.push(async () => {
      board.close();
      await state.close();
    });
    return board;
  });
  return { clock, boards, states };
}

async function redis(): Promise<TestRedis> {
  const server = await startRedis();
  closers.push(() => server.kill());
  return server;
}

/** Asks all at once, and says who may call. */
async function ask(boards: readonly HealthBoard[]): Promise<Permit[]> {
  const answers = await Promise.all(boards.map((board) => board.permit("a")));
  return answers.filter((answer) => answer.ok);
}

function trip(board: HealthBoard | undefined): void {
  for (let i = 0; i < 5; i++) if (board) call(board, "provider_error");
}

const all = (boards: readonly HealthBoard[], circuit: string): boolean =>
  boards.every((board) => board.read("a").circuit === circuit);

describe.skipIf(!hasRedis)("replicas on one Redis (needs redis-server on the path)", () => {
  it("open together, send one probe between the twenty of them, and close together", async () => {
    const { clock, boards } = await replicasOn(await redis(), 20);
    trip(boards[7]);
    await until("all have heard that it is open", () => all(boards, "open"));
    clock.advance(30_000);
    const probes = await ask(boards);
    expect(probes.map(({ probe }) => probe)).toEqual([true]);
    clock.advance(1_000);
    expect(await ask(boards)).toEqual([]);
    probes[0]?.done(outcome(null));
    await until("all have heard that it is closed", () => all(boards, "closed"));
  });

  it("go on alone while it is gone, and agree when it is back with nothing in it", async () => {
    const server = await redis();
    const { boards } = await replicasOn(server, 3);
    const [one, two] = boards as [HealthBoard, HealthBoard];
    await server.kill();
    trip(one);
    call(two, "quota_exhausted");
    expect(boards.map((board) => board.read("a").circuit)).toEqual(["open", "closed", "closed"]);
    await server.start();
    await until("all have heard of both", () =>
      boards.every((board) => board.read("a").circuit === "open" && board.read("a").coolingFor === "quota_exhausted"),
    );
  });
});
