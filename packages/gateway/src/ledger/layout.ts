import type { AttemptRow, RequestRow } from "@sluicegate/contract";

/** What a field of a row is in a spool line; objects (tags, facts) become JSON text in the database. */
export type LineValue = string | number | object | null;

/**
 * The fields of a request in a spool line and in the database, in their order. Lines hold values without names, which
 * halves their cost. Append only: lines of older builds are read, and what one lacks is null.
 */
export const REQUEST_FIELDS = [
  "request_id",
  "client_request_id",
  "parent_request_id",
  "purpose",
  "started_at",
  "tenant",
  "team",
  "application",
  "agent",
  "user",
  "session",
  "key_id",
  "alias",
  "route",
  "rule",
  "variant",
  "dialect",
  "stream",
  "status",
  "error_code",
  "finish_reason",
  "deployment",
  "provider",
  "model",
  "response_model",
  "region",
  "template_version",
  "task_class",
  "classification",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "output_tokens",
  "reasoning_tokens",
  "cost_micro_usd",
  "cost_state",
  "saved_micro_usd",
  "cache",
  "latency_ms",
  "ttft_ms",
  "overhead_ms",
  "fallback_depth",
  "hedged",
  "trace_id",
  "tags",
  "facts",
  "repeated",
] as const;

/** The same for an attempt. */
export const ATTEMPT_FIELDS = [
  "n",
  "deployment",
  "provider",
  "model",
  "status",
  "error_class",
  "http_status",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "output_tokens",
  "reasoning_tokens",
  "cost_micro_usd",
  "cost_state",
  "latency_ms",
  "ttft_ms",
  "hedge",
  "retry",
  "credential_name",
  "credential_generation",
  "credential_owner",
  "provider_request_id",
  "region",
  "capacity",
] as const;

/** Names of token counts, which requests and attempts share. */
export const USAGE_FIELDS = [
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "output_tokens",
  "reasoning_tokens",
] as const;

/** What requests of a key and an alias mostly have in common when they are admitted. Lean lines say it together; append only. */
export const ADMITTED_FIELDS = [
  "purpose",
  "tenant",
  "team",
  "application",
  "key_id",
  "alias",
  "route",
  "rule",
  "variant",
  "dialect",
  "stream",
  "template_version",
  "task_class",
  "classification",
  "cache",
  "deployment",
  "provider",
  "model",
  "region",
] as const;

/** What else a request can have when it is admitted, besides its id, time, tags and facts. Append only. */
export const ADMITTED_OWN_FIELDS = [
  "client_request_id",
  "parent_request_id",
  "agent",
  "user",
  "session",
  "trace_id",
] as const;

/** What requests of a deployment mostly have in common when they are settled. Append only. */
export const SETTLED_FIELDS = [
  "status",
  "error_code",
  "finish_reason",
  "deployment",
  "provider",
  "model",
  "response_model",
  "region",
  "cost_state",
  "saved_micro_usd",
  "cache",
  "fallback_depth",
  "hedged",
  "repeated",
] as const;

/** Times of a settled request. */
export const TIME_FIELDS = ["latency_ms", "ttft_ms", "overhead_ms"] as const;

/** What a settled request is the sum of; one with a single attempt leaves it to that. */
export const SUM_FIELDS = ["cost_micro_usd", ...USAGE_FIELDS] as const;

/** What attempts at a deployment mostly have in common. Append only. */
export const ATTEMPT_SHARED_FIELDS = [
  "deployment",
  "provider",
  "model",
  "status",
  "error_class",
  "http_status",
  "cost_state",
  "hedge",
  "retry",
  "credential_name",
  "credential_generation",
  "credential_owner",
  "region",
  "capacity",
] as const;

/** Numbers of an attempt; the last four are left out where all of them are zero. */
export const ATTEMPT_OWN_FIELDS = [
  "n",
  "latency_ms",
  "ttft_ms",
  "cost_micro_usd",
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "cache_write_1h_tokens",
  "reasoning_tokens",
] as const;

/** An attempt may carry these two besides its contract; the spend report can then group by them. */
export interface AttemptExtras {
  region?: string | null;
  capacity?: string | null;
}

/** A request's values in the order of REQUEST_FIELDS. */
export function requestValues(row: RequestRow): LineValue[] {
  const { usage } = row;
  return [
    row.request_id,
    row.client_request_id,
    row.parent_request_id,
    row.purpose,
    row.started_at,
    row.tenant,
    row.team,
    row.application,
    row.agent,
    row.user,
    row.session,
    row.key_id,
    row.alias,
    row.route,
    row.rule,
    row.variant,
    row.dialect,
    row.stream ? 1 : 0,
    row.status,
    row.error_code,
    row.finish_reason,
    row.deployment,
    row.provider,
    row.model,
    row.response_model,
    row.region,
    row.template_version,
    row.task_class,
    row.classification,
    usage.input_tokens,
    usage.cached_input_tokens,
    usage.cache_write_tokens,
    usage.cache_write_1h_tokens,
    usage.output_tokens,
    usage.reasoning_tokens,
    row.cost_micro_usd,
    row.cost_state,
    row.saved_micro_usd,
    row.cache,
    row.latency_ms,
    row.ttft_ms,
    row.overhead_ms,
    row.fallback_depth,
    row.hedged ? 1 : 0,
    row.trace_id,
    row.tags,
    row.facts,
    row.repeated,
  ];
}

/** An attempt's values in the order of ATTEMPT_FIELDS. */
export function attemptValues(row: RequestRow, attempt: AttemptRow & AttemptExtras): LineValue[] {
  const { usage, credential } = attempt;
  return [
    attempt.n,
    attempt.deployment,
    attempt.provider,
    attempt.model,
    attempt.status,
    attempt.error_class,
    attempt.http_status,
    usage.input_tokens,
    usage.cached_input_tokens,
    usage.cache_write_tokens,
    usage.cache_write_1h_tokens,
    usage.output_tokens,
    usage.reasoning_tokens,
    attempt.cost_micro_usd,
    attempt.cost_state,
    attempt.latency_ms,
    attempt.ttft_ms,
    attempt.hedge ? 1 : 0,
    attempt.retry ? 1 : 0,
    credential?.name ?? null,
    credential?.generation ?? null,
    credential?.owner ?? null,
    attempt.provider_request_id,
    regionOf(row, attempt),
    attempt.capacity ?? null,
  ];
}

/** The region an attempt went to: that of the attempt that served is the request's. */
export function regionOf(row: RequestRow, attempt: AttemptRow & AttemptExtras): string | null {
  return attempt.region ?? (attempt.deployment === row.deployment ? row.region : null);
}
