/** Response headers Sluicegate sets on data-plane answers (lower case, as node:http and fetch give them). */
export const HEADERS = {
  requestId: "x-request-id",
  alias: "x-sluicegate-alias",
  deployment: "x-sluicegate-deployment",
  provider: "x-sluicegate-provider",
  model: "x-sluicegate-model",
  cache: "x-sluicegate-cache",
  fallbackDepth: "x-sluicegate-fallback-depth",
  attempts: "x-sluicegate-attempts",
  variant: "x-sluicegate-variant",
  hedged: "x-sluicegate-hedged",
  costUsd: "x-sluicegate-cost-usd",
  overheadMs: "x-sluicegate-overhead-ms",
  dropped: "x-sluicegate-dropped",
  shouldRetry: "x-should-retry",
  /** Request header: the same key and body again get the same answer. */
  idempotencyKey: "idempotency-key",
  /** `true` on an answer that was made for an earlier request of the same key. */
  idempotentReplayed: "idempotent-replayed",
  /** Request header: `on` or `off`, whether `gateway_metadata` is added to the answer. */
  metadata: "x-sluicegate-metadata",
} as const;

/** Prefix of the request headers that carry platform fields, for example `x-sluicegate-task-class`. */
export const PLATFORM_HEADER_PREFIX = "x-sluicegate-";

/** The member of OpenAI chat JSON answers that says how the request was served. */
export interface GatewayMetadata {
  request_id: string;
  provider: string;
  deployment: string;
  model: string;
  cost_usd: number | null;
  latency_ms: number;
  cache: string;
  cache_hit: boolean;
  hedged: boolean;
  fallback_depth: number;
  circuit_state: string;
  variant: string | null;
}
