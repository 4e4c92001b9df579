import { expect, it } from "vitest";
import { ResponseStore, type StoredResponse } from "./store.ts";

const MIB = 1024 * 1024;

function response(id: string, items: StoredResponse["items"]): StoredResponse {
  const none = { pending: {}, done: {}, input: [], background: false, doneAtMs: 0, cancelled: false };
  return { ...none, id, items, steps: () => [] };
}

/** Which are kept of so many put in one after the other. */
function keptOf(count: number, items: (n: number) => StoredResponse["items"]): number[] {
  const store = new ResponseStore();
  for (let n = 0; n < count; n++) store.put(response(`r${n}`, items(n)));
  return Array.from({ length: count }, (_, n) => n).filter((n) => store.get(`r${n}`));
}

it("keeps the latest responses, of long texts no more than 64 MiB", () => {
  const text = "x".repeat(10 * MIB);
  expect(keptOf(20, (n) => [{ id: `i${n}`, text }])).toEqual([14, 15, 16, 17, 18, 19]);
  expect(keptOf(20, (n) => [{ id: `i${n}`, text: "short" }])).toHaveLength(20);
});

it("counts many small items as what they take, and keeps the latest whatever its size", () => {
  const many = Array.from({ length: 250_000 }, () => ({ role: "user", content: [{ text: "a" }] }));
  expect(keptOf(3, () => many)).toEqual([2]);
});

it("has room again for what was deleted", () => {
  const store = new ResponseStore();
  const large = [{ id: "i", text: "x".repeat(40 * MIB) }];
  store.put(response("a", large));
  store.delete("a");
  store.put(response("b", [{ id: "j" }]));
  store.put(response("c", large));
  expect([store.get("b")?.id, store.get("c")?.id, store.item("i")]).toEqual(["b", "c", large[0]]);
});
