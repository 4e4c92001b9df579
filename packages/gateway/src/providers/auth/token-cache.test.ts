import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";
import { type IssuedToken, TokenCache } from "./token-cache.ts";
import { TokenShelf } from "./token-shelf.ts";

const HOUR = 3_600_000;

/** A giver of tokens whose answers the test gives by hand. */
function giver(clock = new VirtualClock()) {
  const open: { resolve(token: IssuedToken): void; reject(error: Error): void }[] = [];
  let asked = 0;
  const cache = new TokenCache(clock, () => {
    asked++;
    return new Promise((resolve, reject) => open.push({ resolve, reject }));
  });
  const settle = async (act: (call: (typeof open)[number]) => void): Promise<void> => {
    const call = open.shift();
    if (!call) throw new Error("nobody asks");
    act(call);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    ...{ clock, cache },
    asked: () => asked,
    give: (value: string, lifeMs = HOUR) => settle(({ resolve }) => resolve({ value, lifeMs })),
    fail: (words: string) => settle(({ reject }) => reject(new Error(words))),
  };
}

describe("the first token", () => {
  test("is fetched once for all who wait, and then there at once", async () => {
    const { cache, asked, give } = giver();
    expect(cache.current).toBeNull();
    const waiting = [cache.take(), cache.take(), cache.take()];
    await give("one");
    expect((await Promise.all(waiting)).map(({ value }) => value)).toEqual(["one", "one", "one"]);
    expect(cache.take()).toMatchObject({ value: "one", serial: 1 });
    expect(asked()).toBe(1);
  });

  test("that does not come is an error for all who wait, and nobody is asked again before the back-off", async () => {
    const { clock, cache, asked, fail, give } = giver();
    const waiting = [cache.take(), cache.take()];
    const settled = Promise.allSettled(waiting);
    await fail("no");
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(cache.take()).rejects.toThrow("no");
    expect(asked()).toBe(1);
    for (const waitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      clock.advance(waitMs - 1);
      await expect(cache.take()).rejects.toThrow("no");
      clock.advance(1);
      const next = expect(cache.take()).rejects.toThrow("no");
      await fail("no");
      await next;
    }
    clock.advance(30_000);
    const last = cache.take();
    await give("late");
    expect(await last).toMatchObject({ value: "late", serial: 1 });
  });
});

describe("the next token", () => {
  test("is fetched ahead of the end while the old one serves, once", async () => {
    const { clock, cache, asked, give } = giver();
    void cache.take();
    await give("one");
    clock.advance(HOUR - TOKEN_BOUNDS.aheadMs - 1);
    expect(cache.take()).toMatchObject({ value: "one" });
    expect(asked()).toBe(1);
    clock.advance(1);
    expect(asked()).toBe(2);
    for (let call = 0; call < 5; call++) expect(cache.take()).toMatchObject({ value: "one" });
    expect(asked()).toBe(2);
    await give("two");
    expect(cache.take()).toMatchObject({ value: "two", serial: 2 });
  });

  test("of one that nobody used is not fetched until somebody asks", async () => {
    const { clock, cache, asked, give } = giver();
    void cache.take();
    await give("one");
    clock.advance(2 * HOUR);
    expect(asked()).toBe(1);
    expect(clock.timers).toBe(0);
    const next = cache.take();
    await give("two");
    expect(await next).toMatchObject({ value: "two" });
  });

  test("that does not come leaves the old one in use to its end, and is asked for again after each back-off", async () => {
    const { clock, cache, asked, fail, give } = giver();
    void cache.take();
    await give("one");
    expect(cache.take()).toMatchObject({ value: "one" });
    clock.advance(HOUR - TOKEN_BOUNDS.aheadMs);
    await fail("down");
    expect(cache.take()).toMatchObject({ value: "one" });
    clock.advance(1_000);
    expect(asked()).toBe(3);
    await fail("down");
    clock.advance(2_000);
    expect(asked()).toBe(4);
    await give("two");
    expect(cache.take()).toMatchObject({ value: "two", serial: 2 });
  });

  test("is waited for once the old one is over, shortly before its time", async () => {
    const { clock, cache, fail, give } = giver();
    void cache.take();
    await give("one");
    expect(cache.take()).toMatchObject({ value: "one" });
    clock.advance(HOUR - TOKEN_BOUNDS.aheadMs);
    clock.advance(TOKEN_BOUNDS.aheadMs - TOKEN_BOUNDS.lateMs - 1);
    expect(cache.take()).toMatchObject({ value: "one" });
    clock.advance(1);
    const next = cache.take();
    expect(next).toBeInstanceOf(Promise);
    await fail("gone");
    await expect(next).rejects.toThrow("gone");
    clock.advance(1_000);
    const last = cache.take();
    await give("two");
    expect(await last).toMatchObject({ value: "two" });
  });

  test("comes in time for tokens of seconds, and for those said to live for ever", async () => {
    const { clock, cache, asked, give } = giver();
    void cache.take();
    await give("brief", 10_000);
    expect(cache.take()).toMatchObject({ value: "brief" });
    clock.advance(8_000);
    expect(asked()).toBe(2);
    await give("endless", Number.MAX_SAFE_INTEGER);
    expect(cache.take()).toMatchObject({ value: "endless" });
    clock.advance(TOKEN_BOUNDS.lifeMsMax);
    expect(asked()).toBe(3);
  });
});

describe("a token that the provider refuses", () => {
  async function warm() {
    const all = giver();
    void all.cache.take();
    await all.give("one");
    return all;
  }

  test("is replaced at once; calls in between wait, and the refusal learns of the new one", async () => {
    const { cache, asked, give } = await warm();
    const renewed = cache.refused(1);
    const waiting = cache.take();
    expect(waiting).toBeInstanceOf(Promise);
    await give("two");
    expect(await waiting).toMatchObject({ value: "two", serial: 2 });
    expect(await renewed).toBe(true);
    expect(await cache.refused(1)).toBe(true);
    expect(asked()).toBe(2);
  });

  test("stays in use where no other is to be had", async () => {
    const { cache, fail } = await warm();
    const renewed = cache.refused(1);
    const waiting = cache.take();
    await fail("down");
    expect(await waiting).toMatchObject({ value: "one" });
    expect(await renewed).toBe(false);
    expect(cache.take()).toMatchObject({ value: "one" });
  });

  test("is not fetched anew for each of many refusals, and its successors ever more rarely", async () => {
    const { clock, cache, asked, give } = await warm();
    const all = [cache.refused(1), cache.refused(1), cache.refused(1)];
    await give("two");
    expect(await Promise.all(all)).toEqual([true, true, true]);
    expect(await cache.refused(2)).toBe(false);
    expect(asked()).toBe(2);
    clock.advance(1_000);
    const again = cache.refused(2);
    await give("three");
    expect(await again).toBe(true);
    clock.advance(1_000);
    expect(await cache.refused(3)).toBe(false);
    clock.advance(TOKEN_BOUNDS.calmMs + 1);
    const calm = cache.refused(3);
    await give("four");
    expect(await calm).toBe(true);
    expect(await cache.refused(4)).toBe(false);
    clock.advance(1_000);
    expect(asked()).toBe(4);
  });
});

test("a closed cache keeps no timer, and still serves whoever holds it", async () => {
  const { clock, cache, give } = giver();
  void cache.take();
  await give("one");
  expect(clock.timers).toBe(1);
  cache.close();
  expect(clock.timers).toBe(0);
  expect(cache.take()).toMatchObject({ value: "one" });
  clock.advance(HOUR);
  const next = cache.take();
  await give("two");
  expect(await next).toMatchObject({ value: "two" });
  expect(clock.timers).toBe(0);
});

describe("the shelf", () => {
  const nobody = (): Promise<IssuedToken> => Promise.resolve({ value: "v", lifeMs: HOUR });

  test("hands the same cache to the same settings for as long as somebody holds it", async () => {
    const clock = new VirtualClock();
    const shelf = new TokenShelf(clock);
    const one = shelf.borrow(["a", null, "secret"], nobody);
    const two = shelf.borrow(["a", null, "secret"], nobody);
    expect(two.tokens).toBe(one.tokens);
    expect(shelf.borrow(["a", null, "other"], nobody).tokens).not.toBe(one.tokens);
    await one.tokens.take();
    one.release();
    one.release();
    expect(clock.timers).toBe(1);
    expect(shelf.borrow(["a", null, "secret"], nobody).tokens).toBe(two.tokens);
    two.release();
    expect(clock.timers).toBe(1);
  });

  test("forgets what nobody holds", async () => {
    const clock = new VirtualClock();
    const shelf = new TokenShelf(clock);
    const one = shelf.borrow(["a"], nobody);
    await one.tokens.take();
    one.release();
    expect(clock.timers).toBe(0);
    expect(shelf.borrow(["a"], nobody).tokens).not.toBe(one.tokens);
  });
});
