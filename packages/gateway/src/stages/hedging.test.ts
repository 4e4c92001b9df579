import { expect, it } from "vitest";
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
    hedges: { request: () => {}, take: () => true },
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
});
