import { expect, it } from "vitest";
import { LIMITS } from "./limits.ts";
import { Remembered } from "./remembered.ts";

const one = (text: string) => ({ text });
const texts = (kept: Remembered<{ text: string }>, key: string | null) => kept.under(key).map(({ text }) => text);

it("gives back what it was given, by key, and nothing for a key it has not met", () => {
  const kept = new Remembered<{ text: string }>();
  const first = one("1");
  expect(kept.add("a", first)).toBe(first);
  kept.add("a", one("2"));
  kept.add(null, one("3"));
  expect([texts(kept, "a"), texts(kept, null), texts(kept, "b")]).toEqual([["1", "2"], ["3"], []]);
});

it("keeps the latest few of each of the latest keys", () => {
  const kept = new Remembered<{ text: string }>();
  for (let n = 0; n <= LIMITS.rememberedPerKey; n++) kept.add("a", one(`${n}`));
  expect(texts(kept, "a")).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"]);
  for (let n = 1; n < LIMITS.rememberedKeysMax; n++) kept.add(`key-${n}`, one(""));
  expect(texts(kept, "a")).toHaveLength(8);
  kept.add("one too many", one("new"));
  expect([texts(kept, "a"), texts(kept, "key-1"), texts(kept, "one too many")]).toEqual([[], [""], ["new"]]);
});

it("wants all while there is room, then few, and never a long text", () => {
  const kept = new Remembered<{ text: string }>();
  const wantedOf = (times: number, key: (n: number) => string): number => {
    let wanted = 0;
    for (let n = 0; n < times; n++) {
      if (!kept.wants(one("x"), key(n))) continue;
      wanted++;
      kept.add(key(n), one("x"));
    }
    return wanted;
  };
  const { rememberedPerKey: runs, rememberedKeysMax: keys, rememberedUnwanted: unwanted } = LIMITS;
  expect(kept.wants(one("x".repeat(LIMITS.rememberedCharsMax + 1)), "a")).toBe(false);
  expect(wantedOf(runs, () => "a")).toBe(runs);
  expect(wantedOf(10 * unwanted, () => "a")).toBe(10);
  expect(wantedOf(keys - 1, (n) => `key-${n}`)).toBe(keys - 1);
  expect(wantedOf(10 * unwanted, (n) => `more-${n}`)).toBe(10);
});
