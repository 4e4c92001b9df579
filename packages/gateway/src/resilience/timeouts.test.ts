import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import type { DeploymentTimeouts, Route } from "../config/snapshot.ts";
import { attemptTimeouts, totalTimeoutMs } from "./timeouts.ts";

type RouteTimes = Route["timeouts"];

const route = (times: Partial<RouteTimes> = {}) => ({
  timeouts: { hopMs: null, totalMs: null, streamMaxMs: 600_000, ...times },
});
const deployment = (times: Partial<DeploymentTimeouts> = {}) => ({
  timeouts: { connectMs: 5_000, firstTokenMs: null, idleMs: 30_000, ...times },
});
const stream = (body: Record<string, unknown> = {}) => chatCall({ stream: true, ...body });
const reasons = { reasoning_effort: "high" };
const ROOM = 1e9;

describe("the whole chain has (ruling 4)", () => {
  it.each([
    ["a stream", stream(), {}, 60_000],
    ["a stream, as the route says", stream(), { totalMs: 5_000 }, 5_000],
    ["a stream, whatever it may write", stream({ max_tokens: 100_000 }), {}, 60_000],
    ["a JSON answer of few tokens", chatCall({ max_tokens: 10 }), {}, 60_000],
    ["a JSON answer of 2,000 tokens", chatCall({ max_tokens: 2_000 }), {}, 60_000],
    ["a JSON answer of 10,000 tokens", chatCall({ max_tokens: 10_000 }), {}, 300_000],
    ["a JSON answer, as the route says", chatCall({ max_tokens: 10_000 }), { totalMs: 5_000 }, 5_000],
    ["a latency budget that is shorter", chatCall({ gateway: { latency_budget_ms: 300 } }), {}, 300],
    ["a latency budget that is longer", stream({ gateway: { latency_budget_ms: 90_000 } }), {}, 60_000],
    ["a route shorter than the budget", stream({ gateway: { latency_budget_ms: 300 } }), { totalMs: 200 }, 200],
  ])("%s", (_name, call, times, ms) => {
    expect(totalTimeoutMs(call, route(times))).toBe(ms);
  });

  it("at least a minute for JSON without a cap, more where it reasons, and never for ever", () => {
    const plain = totalTimeoutMs(chatCall(), route());
    expect(plain).toBeGreaterThanOrEqual(60_000);
    expect(totalTimeoutMs(chatCall(reasons), route())).toBeGreaterThan(plain);
    expect(totalTimeoutMs(chatCall({ max_tokens: 1e15 }), route())).toBeLessThanOrEqual(24 * 3_600_000);
    expect(totalTimeoutMs(chatCall({ max_tokens: -5 }), route())).toBe(60_000);
  });
});

describe("one attempt has", () => {
  const times = (
    call = stream(),
    deploy: Partial<DeploymentTimeouts> = {},
    onRoute: Partial<RouteTimes> = {},
    remaining = ROOM,
  ) => attemptTimeouts(call, deployment(deploy), route(onRoute), remaining);

  it("the defaults of a stream", () => {
    expect(times()).toEqual({
      connectMs: 5_000,
      firstTokenMs: 10_000,
      hopMs: 15_000,
      idleMs: 30_000,
      streamMaxMs: 600_000,
    });
  });

  it("a minute for its first token where it reasons, and a hop that lets it", () => {
    expect(times(stream(reasons))).toMatchObject({ firstTokenMs: 60_000, hopMs: 60_000 });
  });

  it("no first token and the answer's own time for JSON", () => {
    expect(times(chatCall({ max_tokens: 10_000 }))).toMatchObject({ firstTokenMs: null, hopMs: 300_000 });
  });

  it("what is set, before every default", () => {
    expect(times(stream(), { connectMs: 1, firstTokenMs: 2, idleMs: 3 }, { hopMs: 4, streamMaxMs: 5 })).toEqual({
      connectMs: 1,
      firstTokenMs: 2,
      hopMs: 4,
      idleMs: 3,
      streamMaxMs: 5,
    });
    expect(times(stream(reasons), { firstTokenMs: 2_000 })).toMatchObject({ firstTokenMs: 2_000, hopMs: 15_000 });
    expect(times(stream(reasons), {}, { hopMs: 4_000 }).hopMs).toBe(4_000);
  });

  it("a default hop that does not undo a longer first token that was set", () => {
    expect(times(stream(), { firstTokenMs: 40_000 })).toMatchObject({ firstTokenMs: 40_000, hopMs: 40_000 });
  });

  it("never more than what is left of the chain", () => {
    fc.assert(
      fc.property(fc.nat(200_000), fc.boolean(), fc.option(fc.nat(100_000), { nil: null }), (left, streams, hopMs) => {
        expect(times(streams ? stream() : chatCall(), {}, { hopMs }, left).hopMs).toBeLessThanOrEqual(left);
      }),
    );
  });
});
