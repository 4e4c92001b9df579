import { type ErrorCode, noUsage, type RequestRecord } from "@sluicegate/contract";
import type { Deployment, KeyEntry } from "../config/snapshot.ts";
import type { HealthFacts } from "../core/health.ts";
import { LIMITS } from "../core/limits.ts";
import { costOf } from "../core/money.ts";
import { priceAt } from "../core/price.ts";
import { isRouteFacts, type RouteFacts, recordedHealth } from "../routing/facts.ts";
import { type Deciding, decideAgain } from "../stages/decide-again.ts";
import { deploymentOf } from "../stages/route.ts";
import type { Latencies } from "./observed-latency.ts";

/** Where a request went, or would go. `deployment` null: nobody was asked, or it is refused. */
export interface Destination {
  route: string | null;
  rule: string | null;
  variant: string | null;
  deployment: string | null;
  /** The code that the client is told. */
  refused: ErrorCode | null;
}

/** Requests that would go elsewhere in the same way. */
export interface WhatIfChange {
  alias: string;
  before: Destination;
  after: Destination;
  requests: number;
  cost_before_micro_usd: number;
  cost_after_micro_usd: number;
  /** One of them. */
  example: string;
}

/** What another config would have made of requests that were made (ROUTE-11). */
export interface WhatIfReport {
  config: { revision: string };
  from: string;
  to: string;
  /** Requests that were decided again. */
  requests: number;
  /** Requests that say too little: refused before routing for another reason, or recorded by an older build. */
  skipped: number;
  /** There were more, and the oldest were left out. */
  truncated: boolean;
  changed: number;
  /** The most frequent first. */
  changes: WhatIfChange[];
  refusals: { before: number; after: number; by_code: { code: ErrorCode; message: string; requests: number }[] };
  /** Of requests with a known price under both; `unknown_requests` have none under one of them. */
  cost: { before_micro_usd: number; after_micro_usd: number; unknown_requests: number };
  /** Means over requests of their deployment's median, as observed, else as expected. Null: nothing is known. */
  latency: { before_ms: number | null; after_ms: number | null; unknown_requests: number };
  deployments: { deployment: string; requests_before: number; requests_after: number; expected_ms: number | null }[];
}

/** Between which moments (ISO 8601), and what of them was read. */
export interface Span {
  from: string;
  to: string;
  truncated: boolean;
}

/** Codes by which a request is refused before it is routed, and by nothing but the config and itself. */
const CONFIG_CODES: ReadonlySet<string | null> = new Set<ErrorCode>([
  ...(["invalid_request", "model_not_found", "model_not_allowed", "missing_platform_field"] as const),
  ...(["permission_denied", "residency_violation", "classification_violation"] as const),
  ...(["unsupported_feature", "context_length_exceeded"] as const),
]);

/** What a tally is made with. */
export interface TallyParts {
  runtime: Deciding;
  key(id: string): KeyEntry | null;
  latencies: Latencies;
}

/** Counts what changes, request by request. */
export class WhatIfTally {
  readonly #parts: TallyParts;
  readonly #changes = new Map<string, WhatIfChange>();
  readonly #codes = new Map<string, WhatIfReport["refusals"]["by_code"][number]>();
  readonly #served = new Map<string, { before: number; after: number }>();
  readonly #cost = { before_micro_usd: 0, after_micro_usd: 0, unknown_requests: 0 };
  #requests = 0;
  #skipped = 0;
  #changed = 0;
  #refusedBefore = 0;
  #refusedAfter = 0;

  constructor(parts: TallyParts) {
    this.#parts = parts;
  }

  /** Decides one request again. */
  add(record: RequestRecord): void {
    const { facts, repeated } = record;
    const before = destinationOf(record);
    if (!isRouteFacts(facts) || before === null) {
      this.#skipped += repeated;
      return;
    }
    const { after, message } = this.#decided(record, facts);
    this.#requests += repeated;
    if (before.refused !== null) this.#refusedBefore += repeated;
    if (after.refused !== null) this.#refused(after.refused, message, repeated);
    this.#count(before.deployment, "before", repeated);
    this.#count(after.deployment, "after", repeated);
    const cost = this.#priced(record, facts, after);
    if (differ(before, after)) this.#change(record, before, after, cost);
  }

  /** All of it. */
  report({ from, to, truncated }: Span): WhatIfReport {
    const { runtime } = this.#parts;
    const changes = [...this.#changes.values()].sort((a, b) => b.requests - a.requests);
    return {
      config: { revision: runtime.snapshot.revision },
      ...{ from, to, requests: this.#requests, skipped: this.#skipped, truncated, changed: this.#changed },
      changes,
      refusals: {
        before: this.#refusedBefore,
        after: this.#refusedAfter,
        by_code: [...this.#codes.values()].sort((a, b) => b.requests - a.requests),
      },
      cost: this.#cost,
      latency: this.#latency(),
      deployments: [...this.#served]
        .map(([deployment, { before, after }]) => ({
          ...{ deployment, requests_before: before, requests_after: after },
          expected_ms: this.#expected(deployment),
        }))
        .sort((a, b) => b.requests_after - a.requests_after || b.requests_before - a.requests_before),
    };
  }

  #decided({ key_id }: RequestRecord, facts: RouteFacts): { after: Destination; message: string } {
    const { runtime, key } = this.#parts;
    const health = (deployment: Deployment): HealthFacts => this.#health(facts, deployment.name);
    const known = key_id === null ? null : key(key_id);
    const { decision, refused } = decideAgain(runtime, facts, { key: known, health });
    const after = {
      route: refused ? null : (decision?.route ?? null),
      rule: refused ? null : (decision?.rule ?? null),
      variant: refused ? null : (decision?.variant ?? null),
      deployment: decision?.chain[0] ?? null,
      refused: refused?.code ?? null,
    };
    return { after, message: refused?.message ?? "" };
  }

  /** As it was then; what was not looked at then is taken from what the ledger saw. */
  #health(facts: RouteFacts, deployment: string): HealthFacts {
    const health = recordedHealth(facts, deployment);
    if (facts.revision === this.#parts.runtime.snapshot.revision || health.p50Ms !== null) return health;
    return { ...health, p50Ms: this.#parts.latencies.median(deployment) };
  }

  #priced(record: RequestRecord, facts: RouteFacts, after: Destination): { before: number; after: number } {
    const { usage, cost_micro_usd: before, cost_state, repeated } = record;
    if (usage.input_tokens + usage.output_tokens === 0) return { before, after: before };
    const deployment = after.deployment === null ? undefined : deploymentOf(this.#parts.runtime, after.deployment);
    const price = deployment && priceAt(deployment.prices, facts.at);
    if (cost_state === "unknown" || (after.deployment !== null && !price)) {
      this.#cost.unknown_requests += repeated;
      return { before: 0, after: 0 };
    }
    const cost = { before, after: price ? costOf({ ...noUsage(), ...usage }, price) : 0 };
    this.#cost.before_micro_usd += cost.before;
    this.#cost.after_micro_usd += cost.after;
    return cost;
  }

  #change(
    { alias, request_id, repeated }: RequestRecord,
    before: Destination,
    after: Destination,
    cost: { before: number; after: number },
  ): void {
    this.#changed += repeated;
    const id = JSON.stringify([alias, before, after]);
    const known = this.#changes.get(id);
    if (!known && this.#changes.size >= LIMITS.whatIfGroupsMax) return;
    const change = known ?? {
      ...{ alias: alias ?? "", before, after, requests: 0, example: request_id },
      ...{ cost_before_micro_usd: 0, cost_after_micro_usd: 0 },
    };
    change.requests += repeated;
    change.cost_before_micro_usd += cost.before;
    change.cost_after_micro_usd += cost.after;
    this.#changes.set(id, change);
  }

  #refused(code: ErrorCode, message: string, requests: number): void {
    this.#refusedAfter += requests;
    const known = this.#codes.get(code);
    if (known) known.requests += requests;
    else this.#codes.set(code, { code, message, requests });
  }

  #count(deployment: string | null, when: "before" | "after", requests: number): void {
    if (deployment === null) return;
    const known = this.#served.get(deployment) ?? { before: 0, after: 0 };
    known[when] += requests;
    this.#served.set(deployment, known);
  }

  #latency(): WhatIfReport["latency"] {
    const sums = { before: { ms: 0, requests: 0 }, after: { ms: 0, requests: 0 } };
    let unknown = 0;
    for (const [deployment, served] of this.#served) {
      const ms = this.#expected(deployment);
      if (ms === null) unknown += Math.max(served.before, served.after);
      else
        for (const when of ["before", "after"] as const) {
          sums[when].ms += ms * served[when];
          sums[when].requests += served[when];
        }
    }
    const mean = ({ ms, requests }: typeof sums.before) => (requests === 0 ? null : Math.round(ms / requests));
    return { before_ms: mean(sums.before), after_ms: mean(sums.after), unknown_requests: unknown };
  }

  #expected(deployment: string): number | null {
    const { latencies, runtime } = this.#parts;
    return latencies.median(deployment) ?? deploymentOf(runtime, deployment)?.expectedLatencyMs ?? null;
  }
}

/** Where a request went; null: it was refused for a reason that no config has anything to do with. */
function destinationOf({ route, rule, variant, attempts, deployment, error_code }: RequestRecord): Destination | null {
  if (route !== null) return { route, rule, variant, deployment: attempts[0]?.deployment ?? deployment, refused: null };
  if (!CONFIG_CODES.has(error_code)) return null;
  return { route, rule, variant, deployment: null, refused: error_code };
}

function differ(before: Destination, after: Destination): boolean {
  if (before.refused !== null || after.refused !== null) return before.refused !== after.refused;
  // Nobody was asked: whom it would have been is not on the row.
  const elsewhere = before.deployment !== null && before.deployment !== after.deployment;
  return elsewhere || before.route !== after.route || before.rule !== after.rule || before.variant !== after.variant;
}
