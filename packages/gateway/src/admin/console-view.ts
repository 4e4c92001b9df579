import type { RequestRecord, SpendReport } from "@sluicegate/contract";
import type { ConfigProblem, Snapshot, Tenant } from "../config/snapshot.ts";
import { denialOf, deniesDeployment } from "../core/permission.ts";
import type { Principal } from "./auth.ts";
import { dayOf } from "./default-range.ts";
import { explanationOf } from "./explain.ts";
import type { Explanation } from "./explanation.ts";
import { type Health, healthOf } from "./health.ts";
import type { ControlParts } from "./parts.ts";

const RECENT = 20;

/** One alias and what stands behind it, in the order it is tried. */
export interface AliasView {
  alias: string;
  fallback: boolean;
  chain: { name: string; provider: string; model: string; region: string | null }[];
}

/** Everything the console shows, as this person may see it. No credentials and no addresses of providers. */
export interface ConsoleView {
  principal: Principal;
  nowMs: number;
  health: Health;
  inFlight: number;
  aliases: AliasView[];
  /** Null: the ledger cannot be read just now. */
  today: SpendReport | null;
  recent: RequestRecord[] | null;
  /** Why the recent ones went where they went, by their ids: for who may see all deployments. */
  decisions: ReadonlyMap<string, Explanation>;
  warnings: readonly ConfigProblem[];
}

/** Collects the view. A ledger that cannot be read leaves its parts empty; the rest is shown all the same. */
export async function consoleView(parts: ControlParts, principal: Principal): Promise<ConsoleView> {
  const nowMs = parts.clock.now();
  const snapshot = parts.snapshot();
  const own = principal.tenant === null ? {} : { tenant: principal.tenant };
  const ledgerSays = async <T>(read: () => T | Promise<T>): Promise<T | null> => {
    try {
      return await read();
    } catch (thrown) {
      parts.log.error("the console cannot read the ledger", { err: thrown });
      return null;
    }
  };
  const today = await ledgerSays(() => parts.reader.spend({ by: ["provider", "model"], ...dayOf(nowMs), ...own }));
  const page = await ledgerSays(() => parts.reader.requests({ limit: RECENT, ...own }));
  return {
    principal,
    nowMs,
    health: healthOf(parts),
    inFlight: parts.metrics.read().inFlight,
    aliases: aliasesFor(snapshot, principal.tenant),
    today,
    recent: page?.data ?? null,
    decisions: decisionsOf(parts, principal, page?.data ?? []),
    warnings: principal.tenant === null ? snapshot.warnings : [],
  };
}

function decisionsOf(
  parts: ControlParts,
  principal: Principal,
  records: readonly RequestRecord[],
): ReadonlyMap<string, Explanation> {
  const decisions = new Map<string, Explanation>();
  if (principal.tenant !== null) return decisions;
  for (const record of records) {
    const found = explanationOf(parts, record);
    if (found) decisions.set(record.request_id, found);
  }
  return decisions;
}

function aliasesFor(snapshot: Snapshot, boundTo: string | null): AliasView[] {
  const tenant: Tenant | null = boundTo === null ? null : (snapshot.tenants.get(boundTo) ?? NOBODY);
  const policies = tenant ? [tenant.models] : [];
  return [...snapshot.routes.values()]
    .filter(({ alias }) => tenant === null || denialOf(policies, alias, false) === null)
    .map(({ alias, fallback, chain }) => ({
      alias,
      fallback,
      chain: chain
        .flatMap((name) => snapshot.deployments.get(name) ?? [])
        .filter((deployment) => !deniesDeployment(policies, deployment))
        .map(({ name, provider, model, region }) => ({ name, provider, model, region })),
    }));
}

/** A tenant that the config no longer has may use nothing. */
const NOBODY: Tenant = {
  name: "",
  models: null,
  require: [],
  defaults: { classification: null, residency: null },
  allow: [],
  teams: [],
  applications: [],
};
