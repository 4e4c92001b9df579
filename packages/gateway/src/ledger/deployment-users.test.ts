import { join } from "node:path";
import { expect, it } from "vitest";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { deploymentUsers } from "./deployment-users.ts";
import { anAttempt, aRow, aSettlement } from "./fixtures/rows.ts";
import { aDirectory } from "./fixtures/temporary.ts";
import { LedgerStore } from "./store.ts";

it("names the tenants that have used a deployment lately, and nobody for probes", async () => {
  const path = join(aDirectory(), "ledger.sqlite");
  const store = new LedgerStore(path, false);
  const clock = new VirtualClock(Date.parse("2026-11-29T00:00:00Z"));
  const used = (id: string, tenant: string, deployment: string, day: string) =>
    aSettlement(aRow(id, { tenant, deployment, started_at: `2026-${day}T00:00:00.000Z` }), [
      anAttempt(1, { deployment }),
    ]);
  const settled = [
    used("req_1", "acme", "big", "11-28"),
    used("req_2", "acme", "big", "11-27"),
    used("req_3", "zeta", "big", "11-01"),
    used("req_4", "late", "big", "10-01"),
    used("req_5", "", "big", "11-28"),
    used("req_6", "acme", "small", "11-28"),
    used("req_7", "acme", "other", "11-28"),
  ];
  store.apply({ instance: "gw", running: [], settled });
  const users = await deploymentUsers(path, clock, ["big", "small", "none"]);
  expect([...users].map(([name, tenants]) => [name, [...tenants].sort()])).toEqual([
    ["big", ["acme", "zeta"]],
    ["small", ["acme"]],
  ]);
  store.close();
});
