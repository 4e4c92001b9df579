import type { AttemptRow, ErrorClass, RequestRow } from "@sluicegate/contract";
import { LIMITS } from "../core/limits.ts";

/** Upper bounds of the overhead histogram, ms. */
const OVERHEAD_BOUNDS_MS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250];

/** Running totals of one gateway process. Labels come from configured names and closed sets only. */
export interface Metrics {
  requestBegan(): void;
  requestEnded(row: RequestRow, attempts: readonly AttemptRow[]): void;
  /** A call that the gateway made for itself: tokens and money, and no request of anybody's. */
  ownCallEnded(row: RequestRow): void;
  attemptFailed(deployment: string, errorClass: ErrorClass): void;
  /** Another model answered than is pinned; true the first time that this one did. */
  drifted(deployment: string, model: string): boolean;
  failedOver(): void;
  retried(): void;
  /** A rule of mode shadow would have decided. */
  shadowed(rule: string): void;
  /** A second attempt was started beside another. */
  hedged(): void;
  /** A new credential of a provider's came into use, or was refused by it. */
  credential(provider: string, result: "rotated" | "refused"): void;
  /** The numbers, for /v1/stats and /metrics. */
  read(): MetricsReading;
}

/** A copy of the totals. Counts since the process started. */
export interface MetricsReading {
  inFlight: number;
  requests: number;
  byStatus: Record<string, number>;
  refusals: number;
  inputTokens: number;
  outputTokens: number;
  costMicroUsd: number;
  failovers: number;
  retries: number;
  hedges: number;
  credentials: { provider: string; result: string; count: number }[];
  drifts: { deployment: string; count: number }[];
  shadows: { rule: string; count: number }[];
  attemptFailures: { deployment: string; errorClass: string; count: number }[];
  overhead: { boundsMs: readonly number[]; counts: number[]; sumMs: number };
}

/** Counters in memory, one object write each. */
export function createMetrics(): Metrics {
  let inFlight = 0;
  let requests = 0;
  let refusals = 0;
  let inputTokens = 0;
  let outputTokens = 0;
  let costMicroUsd = 0;
  let failovers = 0;
  let retries = 0;
  let hedges = 0;
  let overheadSumMs = 0;
  const overhead = new Float64Array(OVERHEAD_BOUNDS_MS.length + 1);
  const byStatus = new Map<string, number>();
  const credentials = new Map<string, { provider: string; result: string; count: number }>();
  const shadows = new Map<string, number>();
  const drifts = driftTally();
  const failures = new Map<string, Map<string, number>>();
  const used = ({ usage, cost_micro_usd }: RequestRow): void => {
    inputTokens += usage.input_tokens;
    outputTokens += usage.output_tokens;
    costMicroUsd += cost_micro_usd;
  };
  return {
    requestBegan: () => {
      inFlight++;
    },
    requestEnded(row) {
      inFlight--;
      requests++;
      byStatus.set(row.status, (byStatus.get(row.status) ?? 0) + 1);
      if (row.status === "refused") refusals++;
      used(row);
      const ms = row.overhead_ms ?? 0;
      overheadSumMs += ms;
      let bucket = OVERHEAD_BOUNDS_MS.findIndex((bound) => ms <= bound);
      if (bucket === -1) bucket = OVERHEAD_BOUNDS_MS.length;
      overhead[bucket] = (overhead[bucket] ?? 0) + 1;
    },
    ownCallEnded: used,
    attemptFailed(deployment, errorClass) {
      const classes = failures.get(deployment) ?? new Map<string, number>();
      failures.set(deployment, classes);
      classes.set(errorClass, (classes.get(errorClass) ?? 0) + 1);
    },
    drifted: drifts.count,
    failedOver: () => void failovers++,
    retried: () => void retries++,
    shadowed: (rule) => {
      shadows.set(rule, (shadows.get(rule) ?? 0) + 1);
    },
    hedged: () => void hedges++,
    credential(provider, result) {
      const key = `${result} ${provider}`;
      const known = credentials.get(key) ?? { provider, result, count: 0 };
      known.count++;
      credentials.set(key, known);
    },
    read: () => ({
      inFlight,
      requests,
      byStatus: Object.fromEntries(byStatus),
      refusals,
      inputTokens,
      outputTokens,
      costMicroUsd,
      failovers,
      retries,
      hedges,
      credentials: [...credentials.values()].map((one) => ({ ...one })),
      drifts: drifts.read(),
      shadows: [...shadows].map(([rule, count]) => ({ rule, count })),
      attemptFailures: [...failures].flatMap(([deployment, classes]) =>
        [...classes].map(([errorClass, count]) => ({ deployment, errorClass, count })),
      ),
      overhead: { boundsMs: OVERHEAD_BOUNDS_MS, counts: [...overhead], sumMs: overheadSumMs },
    }),
  };
}

/** Counts answers of models that are not pinned, and knows which of them are news. */
function driftTally(): { count: Metrics["drifted"]; read(): MetricsReading["drifts"] } {
  const drifts = new Map<string, number>();
  const told = new Set<string>();
  return {
    count(deployment, model) {
      drifts.set(deployment, (drifts.get(deployment) ?? 0) + 1);
      const pair = JSON.stringify([deployment, model]);
      // What answers is the provider's to name: once there are too many names, none is news any more.
      if (told.has(pair) || told.size >= LIMITS.driftsMax) return false;
      told.add(pair);
      return true;
    },
    read: () => [...drifts].map(([deployment, count]) => ({ deployment, count })),
  };
}
