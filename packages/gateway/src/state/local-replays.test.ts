import { expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import { LocalReplays } from "./local-replays.ts";

const KEPT_MS = 600_000;

async function answered(replays: LocalReplays, key: string, answer: Buffer): Promise<void> {
  const claim = await replays.claim(key, "body", 30_000);
  if (claim.state !== "mine") throw new Error(`${key} is ${claim.state}`);
  claim.run.complete(answer, KEPT_MS);
}

it("keeps an answer in as much memory as it is long", async () => {
  const replays = new LocalReplays(new VirtualClock());
  const pooled = Buffer.from("an answer");
  expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.byteLength);
  await answered(replays, "key", pooled);
  pooled.fill(0);
  const found = replays.find("key");
  if (found?.state !== "done") throw new Error("the answer is not kept");
  expect(found.answer.toString()).toBe("an answer");
  expect(found.answer.buffer.byteLength).toBe(found.answer.byteLength);
});

it("lets go of answers soon after their time, though nobody asks, and of none before", async () => {
  const clock = new VirtualClock();
  const replays = new LocalReplays(clock);
  for (const key of ["first", "second"]) {
    await answered(replays, key, Buffer.alloc(1_000));
    clock.advance(100_000);
  }
  expect(replays.bytes).toBe(2_000);
  clock.advance(KEPT_MS - 200_001);
  expect([replays.bytes, replays.find("first")?.state]).toEqual([2_000, "done"]);
  clock.advance(1 + STATE_BOUNDS.replaySweepMs);
  expect([replays.bytes, replays.find("second")?.state]).toEqual([1_000, "done"]);
  clock.advance(100_000);
  expect(replays.bytes).toBe(0);
  // And again, after it has been empty for a while.
  clock.advance(KEPT_MS);
  await answered(replays, "third", Buffer.alloc(10));
  clock.advance(KEPT_MS + STATE_BOUNDS.replaySweepMs);
  expect(replays.bytes).toBe(0);
});

it("a call that runs longer than its claim still answers, if nobody else has claimed", async () => {
  const clock = new VirtualClock();
  const replays = new LocalReplays(clock);
  await answered(replays, "other", Buffer.alloc(10));
  const claim = await replays.claim("slow", "body", 1_000);
  clock.advance(KEPT_MS + STATE_BOUNDS.replaySweepMs);
  if (claim.state === "mine") claim.run.complete(Buffer.from("late"), KEPT_MS);
  expect(replays.find("slow")?.state).toBe("done");
});
