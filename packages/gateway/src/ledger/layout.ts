import type { AttemptRow, RequestRow } from "@sluicegate/contract";

/** What a field of a row is in a spool line; objects (tags, facts) become JSON text in the database. */
export type LineValue = string | number | object | null;

/**
 * The fields of a request in a spool line and in the database, in their order. Lines hold values without names, which
 * halves their cost. Append only: a spool may be read by an older or a newer build, and what one lacks is null.
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

/** An attempt may carry these two besides its contract; the spend report can then group by them. */
export interface AttemptExtras {
  region?: string | null;
  capacity?: string | null;
}

/** A request's values in the order of REQUEST_FIELDS. Written out, since this runs twice a request. */
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

/** An attempt's values in the order of ATTEMPT_FIELDS. The region of the attempt that served is the request's. */
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
    attempt.region ?? (attempt.deployment === row.deployment ? row.region : null),
    attempt.capacity ?? null,
  ];
}
