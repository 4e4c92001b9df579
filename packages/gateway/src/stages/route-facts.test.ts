import { expect, it } from "vitest";
import { chatCall } from "../../test/support/call.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { aDeployment, aRoute, aTenant } from "../config/fixtures/parts.ts";
import type { PlatformFields } from "../core/call.ts";
import { offlineRuntime } from "../offline-runtime.ts";
import { aConfig } from "../routing/fixtures/config.ts";
import type { Runtime } from "./plane.ts";
import { PLATFORM_FACTS, routeFacts } from "./route-facts.ts";

const FIELDS: Required<Pick<PlatformFields, (typeof PLATFORM_FACTS)[number]>> = {
  ...{ user: "u", agent: "bot", application: "web", task_class: "reasoning", classification: "internal" },
  ...{ residency: "eu", hedge: false, fallback: false, side_effecting: true, latency_budget_ms: 0 },
};

it("tells every platform field that is a fact, and none that was not sent", () => {
  const snapshot = aConfig({ deployments: [aDeployment("a")], routes: [aRoute("main", ["a"])] });
  const runtime = offlineRuntime(snapshot, new VirtualClock()) as unknown as Runtime;
  const key = { id: "k", models: null, team: null, application: null } as never;
  const factsOf = (platform: PlatformFields) =>
    routeFacts(
      runtime,
      { key, tenant: aTenant("acme") },
      { ...chatCall({ model: "main" }), platform },
      { at: 0, draw: 0 },
    );
  expect(factsOf(FIELDS)).toMatchObject(FIELDS);
  const bare = factsOf({});
  for (const name of PLATFORM_FACTS) {
    expect(bare).not.toHaveProperty(name);
    expect(factsOf({ [name]: FIELDS[name] })).toEqual({ ...bare, [name]: FIELDS[name] });
  }
});
