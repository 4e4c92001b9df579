import { hash } from "node:crypto";
import { expect, it } from "vitest";
import { systemRandom } from "../core/random.ts";
import { newKey } from "./new-key.ts";

it("makes keys that split at their underscores, with 256 bits of secret", () => {
  const random = systemRandom();
  const made = Array.from({ length: 200 }, () => newKey(random));
  for (const { id, key, hash: kept } of made) {
    expect(key).toMatch(/^sg_[0-9a-z]{12}_[0-9A-Za-z]{43}$/);
    expect(key.split("_")[1]).toBe(id);
    expect(kept).toBe(hash("sha256", key));
  }
  expect(new Set(made.map(({ id }) => id)).size).toBe(200);
});

it("keeps every bit of the largest secret", () => {
  const largest = newKey({ bytes: (count) => new Uint8Array(count).fill(255), float: () => 0 });
  const next = newKey({ bytes: (count) => new Uint8Array(count).fill(255).fill(254, count - 1), float: () => 0 });
  expect(largest.key).toHaveLength(59);
  expect(next.key.split("_")[2]).not.toBe(largest.key.split("_")[2]);
});
