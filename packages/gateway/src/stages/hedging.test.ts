import { describe, expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { Cancel } from "../core/cancel.ts";
import { UNKNOWN_HEALTH } from "../core/health.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import type { CallOutcome } from "../resilience/permit.ts";
import type { Standing, Work } from "./execute.ts";
import { hedgeFor } from "./hedging.ts";
import type { DataPlane } from "./plane.ts";

it("a second attempt that cannot be made is none: the first one runs on, and nothing is held", async () => {
  let givenBack = 0;
  const done: CallOutcome[] = [];
  const faults: [string, unknown][] = [];
  const broken = new Error("it cannot be said in that dialect");
  const deployment = { name: "d", model: "m", provider: "p", timeouts: {}, contextWindow: null };
  const provider = {
    request: () => {
      throw broken;
    },
  };
  const hop = { deployment, provider, protocol: openaiChat, crossing: null, pool: "d", health: "d", ceilings: [] };
  const plane = {
    clock: new VirtualClock(),
    hedges: { request: () => {}, take: () => true, giveBack: () => givenBack++ },
    health: {
      p95Ms: () => null,
      read: () => UNKNOWN_HEALTH,
      permit: () => ({ ok: true, probe: false, done: (outcome: CallOutcome) => done.push(outcome) }),
    },
    log: { fault: (requestId: string, cause: unknown) => faults.push([requestId, cause]) },
  } as unknown as DataPlane;
  const settings = { fallback: true, hedge: { after: 50, maxExtra: 1 }, timeouts: {}, retries: { attempts: 2 } };
  const work = {
    call: chatCall(),
    plan: { settings, hops: [hop, { ...hop }] },
    lease: { row: { tenant: "t" }, attempts: [{ hedge: false }] },
    visit: { requestId: "req_1", protocol: openaiChat, arrivedAt: 0, startedAt: 0 },
  } as unknown as Work;
  const standing = { hopIndex: 0, deadline: 60_000 } as Standing;
  const second = hedgeFor(plane, work, standing, new Cancel());
  expect(await second?.start(() => false)).toBeNull();
  expect(faults).toEqual([["req_1", broken]]);
  expect(done).toMatchObject([{ neutral: true }]);
  expect(givenBack).toBe(1);
});

describe("a second attempt", () => {
  const hop = (name: string) => ({ deployment: { name }, health: name });
  const chain = [hop("a"), hop("b"), hop("c")];
  /** What is asked of the budget, and the second attempt, after these calls of a request that stands at `a`. */
  function second(calls: readonly (typeof chain)[number][], attemptsHere: number) {
    const requests: string[] = [];
    const plane = {
      hedges: { request: (name: string) => requests.push(name) },
      health: { p95Ms: () => 100 },
    } as unknown as DataPlane;
    const settings = { fallback: true, hedge: { after: "p95", maxExtra: 1 }, retries: { attempts: 2 } };
    const attempts = calls.map((made) => ({ hop: made, hedge: false }));
    const work = { call: chatCall(), plan: { settings, hops: chain }, lease: { attempts } } as unknown as Work;
    const standing = { hopIndex: 0, attemptsHere, overflowed: null } as unknown as Standing;
    return { requests, made: hedgeFor(plane, work, standing, new Cancel()) };
  }
  const [a, b, c] = chain as [ReturnType<typeof hop>, ReturnType<typeof hop>, ReturnType<typeof hop>];

  it("counts requests, and not their retries", () => {
    expect(second([a], 1)).toMatchObject({ requests: ["a"], made: { afterMs: 100 } });
    expect(second([a, a], 2)).toMatchObject({ requests: [], made: { afterMs: 100 } });
  });

  it("goes to none that has had all its calls", () => {
    expect(second([b, b, a], 1).made).not.toBeNull();
    expect(second([b, b, c, c, a], 1).made).toBeNull();
  });
});
