import { beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { openaiChat } from "../../src/protocols/openai-chat/index.ts";
import { bodyOf } from "../client/request.ts";
import type { ClientSpec } from "../client/spec.ts";
import { actOf, type RetryHint } from "../upstream/act.ts";
import { loadTemplate, type Template } from "../world/template.ts";
import { evenly, play, spent, statuses, waits } from "./stage.ts";

let template: Template;
beforeAll(async () => {
  template = await loadTemplate();
});

/** Dollars a million tokens, as a config has them. */
function priced(input: number, cachedInput: number, output: number): { prices: [{ fromMs: number; price: never }] } {
  const price = {
    ...{ input: input * 1e9, cachedInput: cachedInput * 1e9, cacheWrite: input * 1e9, cacheWrite1h: input * 1e9 },
    ...{ output: output * 1e9, tiers: [], source: "config" },
  };
  return { prices: [{ fromMs: 0, price: price as never }] };
}

/** A provider's own bucket of tokens, full at first: the one that says 429. */
function allocation(tokensAMinute: number): (tokens: number, atMs: number) => boolean {
  let level = tokensAMinute;
  let lastMs = 0;
  return (tokens, atMs) => {
    level = Math.min(tokensAMinute, level + ((atMs - lastMs) * tokensAMinute) / 60_000);
    lastMs = atMs;
    if (tokens > level) return false;
    level -= tokens;
    return true;
  };
}

describe("twelve tenants of 250,000 tokens a minute at 70 % on 2,000,000, with a second deployment", () => {
  const TENANTS = Array.from({ length: 12 }, (_, i) => `t${i}`);
  /** Of 15,000 tokens each: so many of twelve tenants are 2,100,000 tokens a minute. */
  const A_MINUTE = 140;
  const MINUTES = 5;
  /** What uses up at once what a bucket has saved: the rest is as in the middle of a day. */
  const AT_ONCE = 133;
  const REQUESTS = AT_ONCE + A_MINUTE * MINUTES;
  const act = (mayTake: ReturnType<typeof allocation>, own: { refused: number }) => (call: { atMs: number }) => {
    const usage = { input_tokens: 1_000, output_tokens: 14_000 };
    if (mayTake(15_000, call.atMs)) return actOf({ firstMs: 3_000, usage });
    own.refused++;
    return actOf({ kind: "limited", hint: "seconds", hintMs: 2_000 });
  };
  const run = async (tpm: number | null) => {
    const own = { refused: 0 };
    const limits = { rpm: null, tpm, concurrency: null, floors: new Map() };
    const outcome = await play(template, {
      tenants: TENANTS,
      replicas: 3,
      deployments: [
        { name: "shared", config: tpm === null ? {} : { limits }, act: act(allocation(2_000_000), own) },
        { name: "second", act: act(allocation(2_000_000), own) },
      ],
      clients: Array.from({ length: REQUESTS }, (_, i) => ({
        atMs: i < AT_ONCE ? i : 1_000 + ((i - AT_ONCE) * 60_000) / A_MINUTE,
        ...{ tenant: TENANTS[i % TENANTS.length] as string, promptChars: 3_900, maxTokens: 14_000 },
      })),
    });
    return { outcome, refused: own.refused };
  };

  it("no provider's 429 reaches anyone: there is none", { timeout: 120_000 }, async () => {
    const { outcome, refused } = await run(2_000_000);
    expect(outcome.violations).toEqual([]);
    expect(statuses(outcome)).toEqual({ 200: REQUESTS });
    expect(refused).toBe(0);
    const second = outcome.remains.upstreams.invoice.lines.filter(({ deployment }) => deployment === "second");
    expect(second.length).toBeGreaterThan(10);
    // What does not fit goes there, and not much more than that.
    expect(second.length).toBeLessThan(REQUESTS * 0.15);
  });

  it("without a ceiling there would be", { timeout: 120_000 }, async () => {
    const { refused } = await run(null);
    expect(refused).toBeGreaterThan(0);
  });
});

describe("a primary that accepts and hangs, and a backup of 4 s", () => {
  it("lets nobody wait for more than about 14 s", { timeout: 60_000 }, async () => {
    const outcome = await play(template, {
      deployments: [
        { name: "primary", act: () => actOf({ kind: "mute" }) },
        { name: "backup", act: () => actOf({ firstMs: 4_000 }) },
      ],
      clients: [...evenly(50, 1_000, () => ({ stream: true })), ...evenly(150, 60_000, () => ({ stream: true }))],
    });
    expect(outcome.violations).toEqual([]);
    expect(statuses(outcome)).toEqual({ 200: 200 });
    const times = waits(outcome);
    const p99 = times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;
    expect(p99).toBeGreaterThan(13_900);
    expect(times[times.length - 1]).toBeLessThan(14_200);
    // Once it is known, nobody waits for the primary.
    expect(times[Math.ceil(times.length * 0.25)]).toBeLessThan(4_200);
  });
});

describe("a rate-limit event, through an SDK that tries three times", () => {
  for (const chain of [1, 2, 3]) {
    for (const hint of ["none", "seconds", "ms", "date"] satisfies RetryHint[]) {
      it(`makes at most six calls over ${chain} deployments with Retry-After as ${hint}`, async () => {
        for (const hintMs of [200, 3_000, 20_000, 90_000]) {
          const outcome = await play(template, {
            deployments: Array.from({ length: chain }, (_, i) => ({
              name: `d${i}`,
              act: () => actOf({ kind: "limited", hint, hintMs }),
            })),
            clients: evenly(20, 60_000, (i) => ({ stream: i % 2 === 0, retries: 2 })),
          });
          expect(outcome.violations).toEqual([]);
          for (const { visits } of outcome.remains.clients) {
            const calls = visits.flatMap(({ mark }) => outcome.remains.upstreams.invoice.of(mark));
            expect(calls.length).toBeLessThanOrEqual(6);
          }
        }
      });
    }
  }
});

describe("two minutes of 429", () => {
  for (const chain of [1, 2]) {
    it(`cost at most 1.2 calls a request over ${chain} deployments`, async () => {
      const requests = 1_200;
      const outcome = await play(template, {
        deployments: Array.from({ length: chain }, (_, i) => ({
          name: `d${i}`,
          act: ({ atMs }) => (atMs > 30_000 && atMs < 150_000 ? actOf({ kind: "limited" }) : actOf()),
        })),
        clients: evenly(requests, 180_000),
        replicas: 2,
      });
      expect(outcome.violations).toEqual([]);
      expect(outcome.counts.calls).toBeLessThanOrEqual(1.2 * requests);
    });
  }
});

describe("a pinned alias whose provider moves the model", () => {
  it("is told of in the same minute, once", async () => {
    const movedMs = 61_000;
    const outcome = await play(template, {
      deployments: [{ name: "pinned", act: ({ atMs }) => actOf(atMs < movedMs ? {} : { model: "pinned-2026-09-09" }) }],
      providers: { kind: "openai" },
      alerts: [{ url: new Secret("http://alerts.test/hook", "literal"), format: "json", kinds: "*" }],
      clients: evenly(60, 120_000),
    });
    expect(outcome.violations).toEqual([]);
    const posts = outcome.remains.upstreams.posts.map(({ atMs, body }) => ({ atMs, ...JSON.parse(body) }));
    const firing = posts.filter(({ kind, state }) => kind === "model_drift" && state === "firing");
    expect(firing.map(({ deployment }) => deployment)).toEqual(["pinned"]);
    expect(firing[0].atMs).toBeGreaterThan(movedMs);
    expect(firing[0].atMs).toBeLessThan(movedMs + 60_000);
  });
});

describe("money", () => {
  it("50,000 requests a day with most of their input cached are $517.50", async () => {
    // A fiftieth of them: every sum is of whole micro-dollars, so that the rest is fifty times the same.
    const usage = (order: number) => ({ ...USED, cached_input_tokens: order % 10 === 0 ? 0 : 5_000 });
    const USED = { input_tokens: 6_000, output_tokens: 300 };
    let order = 0;
    const outcome = await play(template, {
      deployments: [{ name: "d0", config: priced(3, 0.3, 15), act: () => actOf({ usage: usage(order++) }) }],
      clients: evenly(1_000, 60_000, (i) => ({ stream: i % 2 === 0 })),
    });
    expect(outcome.violations).toEqual([]);
    expect(spent(outcome) * 50).toBe(517_500_000);
  });

  it("100,000 streams a day, of which 18 % are dropped half way, are $1,228", async () => {
    // A thousandth of them. A word stands for 20 tokens, and a dropped one has had 20 words of its 40.
    const word = "twenty tokens of text, that is to say eighty characters of it, blank included.  ";
    expect(word.length).toBe(80);
    const outcome = await play(template, {
      deployments: [
        {
          name: "d0",
          config: priced(2.5, 1.25, 10),
          act: () =>
            actOf({
              words: 40,
              word,
              paceMs: 10,
              usage: { input_tokens: 2_000, cached_input_tokens: 0, output_tokens: 800 },
            }),
        },
      ],
      clients: evenly(100, 60_000, (i) => ({
        stream: true,
        promptChars: charsFor(2_000, `c${i}.0`),
        ...(i % 50 < 9 && { leaving: { kind: "mid_answer", ms: 195 } }),
      })),
    });
    expect(outcome.violations).toEqual([]);
    const dropped = [...outcome.remains.books.rows.values()].filter(({ row }) => row.status === "cancelled");
    expect(dropped.length).toBe(18);
    expect(spent(outcome) * 1_000).toBe(1_228_000_000);
  });
});

const jsonType = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);

/** How long a prompt is that is taken for so many tokens of input. */
function charsFor(tokens: number, mark: string): number {
  const estimate = (promptChars: number): number => {
    const spec = {
      dialect: "openai-chat",
      alias: "default",
      stream: true,
      maxTokens: null,
      platform: {},
      words: 1,
      wants: null,
    };
    const raw = bodyOf({ ...spec, promptChars, toolResults: false, showsUsage: false } as unknown as ClientSpec, mark);
    return openaiChat.decodeRequest({ raw, header: jsonType, path: { query: "" } }).inputTokensEstimate;
  };
  let chars = tokens * 4;
  while (estimate(chars) > tokens) chars--;
  while (estimate(chars) < tokens) chars++;
  return chars;
}
