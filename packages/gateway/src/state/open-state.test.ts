import { expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { Secret } from "../core/secret.ts";
import { openState } from "./open-state.ts";

function parts() {
  const lines: unknown[] = [];
  const log = {
    info: (...line: unknown[]) => void lines.push(line),
    warn: (...line: unknown[]) => void lines.push(line),
  };
  return { lines, parts: { clock: systemClock, random: systemRandom(), log } };
}

it("is of this process alone unless a Redis is named", async () => {
  const { lines, parts: given } = parts();
  const state = await openState({ kind: "memory" }, given);
  expect([state.kind, state.standing(), lines]).toEqual(["memory", "ok", []]);
  await state.close();
});

it("opens without the Redis it is to use, and says so without its password", async () => {
  const { lines, parts: given } = parts();
  const state = await openState({ kind: "redis", url: new Secret("redis://:hidden@127.0.0.1:1", "test") }, given);
  expect([state.kind, state.standing()]).toEqual(["redis", "down"]);
  expect(lines).toEqual([[expect.stringContaining("does not answer"), { standing: "down", problem: "ECONNREFUSED" }]]);
  expect(JSON.stringify([lines, state])).not.toContain("hidden");
  await state.close();
  await state.close();
});

it("refuses an address that is none, without showing it", async () => {
  const opening = openState({ kind: "redis", url: new Secret("http://:hidden@host", "test") }, parts().parts);
  await expect(opening).rejects.toThrow("redis://host:6379");
  await expect(opening).rejects.not.toThrow(/hidden/);
});
