import { expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { aDeployment, aRoute, aTenant } from "../config/fixtures/parts.ts";
import type { KeyEntry, ProviderConfig } from "../config/snapshot.ts";
import { Cancel } from "../core/cancel.ts";
import { UNKNOWN_HEALTH } from "../core/health.ts";
import { systemRandom } from "../core/random.ts";
import { offlineRuntime } from "../offline-runtime.ts";
import type { CallOutcome } from "../resilience/permit.ts";
import { aConfig } from "../routing/fixtures/config.ts";
import { classify, type Doubt } from "./classify.ts";
import type { DataPlane } from "./plane.ts";

const PROVIDER: ProviderConfig = {
  ...{ name: "openai", kind: "openai", preset: null, baseUrl: "http://127.0.0.1:9/v1", apiKey: null, auth: null },
  ...{ headers: {}, forwardHeaders: [], connections: 8, tls: null, proxy: null },
};
const KEY: KeyEntry = {
  ...{ id: "k", hash: "", tenant: "acme", team: null, application: null, name: null, models: null },
  ...{ expiresAt: null, source: "config" },
};

it("a classifier that cannot be asked is given back to its deployment, and says nothing", async () => {
  const clock = new VirtualClock();
  const tenant = aTenant("acme");
  const snapshot = aConfig({
    providers: [PROVIDER],
    deployments: [aDeployment("judge", { provider: "openai" })],
    routes: [aRoute("judge", ["judge"])],
    tenants: [tenant],
  });
  const runtime = { ...offlineRuntime(snapshot, clock), madeDeployments: () => [], ceilings: () => [] };
  const done: CallOutcome[] = [];
  const plane = {
    ...{ clock, random: systemRandom() },
    health: {
      read: () => UNKNOWN_HEALTH,
      permit: () => ({ ok: true, probe: true, done: (outcome: CallOutcome) => done.push(outcome) }),
    },
    ledger: { accepting: () => true, admit: () => Promise.reject(new Error("the disk is full")) },
  } as unknown as DataPlane;
  const doubt = {
    ...{ runtime, caller: { key: KEY, tenant }, call: chatCall(), visit: { requestId: "r", waitedMs: 0 } },
    ...{ classifier: { kind: "model", alias: "judge" }, budgetMs: 100 },
  } as unknown as Doubt;
  expect(await classify(plane, doubt, new Cancel())).toBeNull();
  expect(done).toMatchObject([{ class: null, neutral: true }]);
});
