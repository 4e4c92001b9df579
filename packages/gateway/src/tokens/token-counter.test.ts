import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { afterEach, describe, expect, it } from "vitest";
import { Cancel } from "../core/cancel.ts";
import { TOKEN_LIMITS } from "./bounds.ts";
import { openTokenCounter, type TokenCounter } from "./token-counter.ts";

const open: TokenCounter[] = [];
const counter = (): TokenCounter => {
  const made = openTokenCounter();
  open.push(made);
  return made;
};
const ENGLISH = "The quick brown fox jumps over the lazy dog, again and again. ";

afterEach(async () => {
  for (const made of open.splice(0)) await made.close();
});

describe("a token counter", () => {
  it.each([
    ["hello world", 2],
    ["", 0],
    // A special token's name is text.
    ["<|endoftext|>", 7],
    ["中文分词", 3],
  ])("counts %j as the tokenizer does", async (text, tokens) => {
    expect(await counter().count([text], new Cancel())).toBe(tokens);
  });

  it("counts several texts, short and long, and adds them up", async () => {
    const long = ENGLISH.repeat(6_000);
    const texts = ["one", "two", long, ...Array.from({ length: 3_000 }, (_, i) => `text ${i}`)];
    const wanted = texts.reduce((sum, text) => sum + countTokens(text), 0);
    expect(await counter().count(texts, new Cancel())).toBe(wanted);
  });

  it("lets a short one pass a long one", async () => {
    const tokens = counter();
    const order: string[] = [];
    const long = tokens.count([ENGLISH.repeat(30_000)], new Cancel()).then(() => order.push("long"));
    const short = tokens.count(["hello"], new Cancel()).then(() => order.push("short"));
    await Promise.all([long, short]);
    expect(order).toEqual(["short", "long"]);
  });

  it("refuses more than a request may have, by its limit", async () => {
    const text = "a ".repeat(TOKEN_LIMITS.requestCharsMax / 2 + 1);
    await expect(counter().count([text], new Cancel())).rejects.toMatchObject({
      code: "request_too_large",
      details: { limit: TOKEN_LIMITS.requestCharsMax, used: text.length },
    });
  });

  it("refuses more than may wait, and counts again when it is done", async () => {
    const tokens = counter();
    const waiting = Array.from({ length: TOKEN_LIMITS.waitingMax }, () => tokens.count(["a"], new Cancel()));
    await expect(tokens.count(["a"], new Cancel())).rejects.toMatchObject({ code: "overloaded" });
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 1));
    const heavy = ENGLISH.repeat(Math.floor(TOKEN_LIMITS.requestCharsMax / ENGLISH.length));
    const cancel = new Cancel();
    const held: Promise<unknown>[] = [];
    for (let chars = heavy.length; chars <= TOKEN_LIMITS.waitingCharsMax; chars += heavy.length) {
      held.push(expect(tokens.count([heavy], cancel)).rejects.toMatchObject({ code: "cancelled" }));
    }
    await expect(tokens.count([heavy], new Cancel())).rejects.toMatchObject({ code: "overloaded" });
    cancel.cancel("client_left");
    await Promise.all(held);
    expect(await tokens.count(["hello world"], new Cancel())).toBe(2);
  });

  it("forgets whom nobody waits for any more", async () => {
    const tokens = counter();
    const cancel = new Cancel();
    const left = tokens.count([ENGLISH.repeat(10_000)], cancel);
    cancel.cancel("client_left");
    await expect(left).rejects.toMatchObject({ code: "cancelled" });
    await expect(tokens.count(["a"], cancel)).rejects.toMatchObject({ code: "cancelled" });
    expect(await tokens.count(["hello world"], new Cancel())).toBe(2);
  });

  it("ends what waits when it is closed, and takes no more", async () => {
    const tokens = counter();
    const left = expect(tokens.count([ENGLISH], new Cancel())).rejects.toMatchObject({ code: "cancelled" });
    await tokens.close();
    await left;
    await expect(tokens.count(["a"], new Cancel())).rejects.toMatchObject({ code: "cancelled" });
  });
});
