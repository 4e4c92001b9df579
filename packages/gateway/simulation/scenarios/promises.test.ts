import { beforeAll, describe, expect, it } from "vitest";
import { actOf } from "../upstream/act.ts";
import { loadTemplate, type Template } from "../world/template.ts";
import { evenly, play, statuses } from "./stage.ts";

let template: Template;
beforeAll(async () => {
  template = await loadTemplate();
});

describe("a latency budget of 3 s, and a next hop that is expected to take 800 ms", () => {
  const run = (goneMs: number) =>
    play(template, {
      deployments: [
        { name: "first", act: () => actOf({ kind: "overloaded", connectMs: 0, headMs: goneMs }) },
        { name: "next", config: { expectedLatencyMs: 800 }, act: () => actOf() },
      ],
      clients: [{ platform: { latency_budget_ms: 3_000 } }],
    });

  it("with 2,400 ms gone, no call is made, and the error says so", async () => {
    const outcome = await run(2_400);
    expect(outcome.violations).toEqual([]);
    expect(outcome.counts.calls).toBe(1);
    expect(statuses(outcome)).toEqual({ 504: 1 });
    expect(outcome.seen["latency_budget_exhausted"]).toBe(1);
  });

  it("with 2,100 ms gone, it is made", async () => {
    const outcome = await run(2_100);
    expect(outcome.counts.calls).toBe(2);
    expect(statuses(outcome)).toEqual({ 200: 1 });
  });
});

describe("a noisy tenant beside one with a floor", () => {
  it("cannot push it below the floor", { timeout: 60_000 }, async () => {
    const floors = new Map([["quiet", { rpm: null, tpm: 30_000 }]]);
    const act = () => actOf({ usage: { input_tokens: 500, output_tokens: 500 } });
    const outcome = await play(template, {
      tenants: ["quiet", "noisy"],
      deployments: [
        { name: "shared", config: { limits: { rpm: null, tpm: 100_000, concurrency: null, floors } }, act },
      ],
      clients: [
        // Of about 1,000 tokens each: 24,000 a minute of its 30,000, and ten times as much as there is.
        ...evenly(72, 180_000, () => ({ tenant: "quiet", promptChars: 1_800, maxTokens: 500 })),
        ...evenly(3_000, 180_000, () => ({ tenant: "noisy", promptChars: 1_800, maxTokens: 500 })),
      ],
      replicas: 2,
    });
    expect(outcome.violations).toEqual([]);
    const rows = [...outcome.remains.books.rows.values()].map(({ row }) => row);
    const of = (tenant: string): (string | null)[] =>
      rows.filter((row) => row.tenant === tenant).map(({ status, error_code: code }) => code ?? status);
    expect(new Set(of("quiet"))).toEqual(new Set(["ok"]));
    expect(of("noisy").filter((word) => word === "rate_limit_exceeded").length).toBeGreaterThan(1_000);
  });
});

describe("a provider that recovers", () => {
  it("is asked by one probe at a time, and gets its traffic back", async () => {
    const outcome = await play(template, {
      deployments: [
        { name: "ill", act: ({ atMs }) => (atMs < 20_000 ? actOf({ kind: "fault" }) : actOf({ firstMs: 400 })) },
        { name: "well", act: () => actOf() },
      ],
      clients: evenly(2_000, 200_000),
      replicas: 3,
    });
    expect(outcome.violations).toEqual([]);
    expect(statuses(outcome)).toEqual({ 200: 2_000 });
    const calls = outcome.remains.upstreams.invoice.lines.filter(({ deployment }) => deployment === "ill");
    // Found out by a handful of calls, and left alone after that.
    expect(calls.filter(({ startedMs }) => startedMs < 20_000).length).toBeLessThan(40);
    const late = calls.filter(({ startedMs }) => startedMs > 150_000).length;
    expect(late).toBeGreaterThan(490);
  });
});
