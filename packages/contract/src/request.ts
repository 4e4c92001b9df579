import type { ErrorClass, ErrorCode } from "./errors.ts";
import type { CostState, Usage } from "./usage.ts";

/** Why a request was made: by a client, or by the gateway for itself. */
export type Purpose = "client" | "probe" | "classifier" | "embedding" | "judge" | "repair";

/** Where a request stands. `abandoned`: the gateway died while it ran. */
export type RequestStatus = "running" | "ok" | "failed" | "refused" | "cancelled" | "abandoned";

/** Which credential an attempt used; never the credential itself. */
export interface CredentialUse {
  name: string;
  generation: number;
  owner: "shared" | "tenant";
}

/** One call to one deployment, as the ledger keeps it. `n` counts from 1 within the request. */
export interface AttemptRow {
  n: number;
  deployment: string;
  provider: string;
  /** The model name sent upstream. */
  model: string;
  status: "ok" | "failed" | "cancelled";
  error_class: ErrorClass | null;
  http_status: number | null;
  usage: Usage;
  cost_micro_usd: number;
  cost_state: CostState;
  latency_ms: number;
  ttft_ms: number | null;
  hedge: boolean;
  /** True when the attempt before it went to the same deployment. */
  retry: boolean;
  credential: CredentialUse | null;
  provider_request_id: string | null;
}

/** One request, as the ledger, the access log and GET /admin/requests show it, without its attempts. */
export interface RequestRow {
  request_id: string;
  client_request_id: string | null;
  parent_request_id: string | null;
  purpose: Purpose;
  /** ISO 8601, milliseconds, UTC. */
  started_at: string;
  tenant: string;
  team: string | null;
  application: string | null;
  agent: string | null;
  user: string | null;
  session: string | null;
  key_id: string | null;
  /** The alias the client asked for. */
  alias: string | null;
  /** The alias that served. */
  route: string | null;
  /** Rule name, or `chain`, `override`, `canary`. */
  rule: string | null;
  variant: string | null;
  dialect: string;
  stream: boolean;
  status: RequestStatus;
  error_code: ErrorCode | null;
  finish_reason: string | null;
  deployment: string | null;
  provider: string | null;
  model: string | null;
  /** The model the provider says it used. */
  response_model: string | null;
  region: string | null;
  template_version: string | null;
  task_class: string | null;
  classification: string | null;
  usage: Usage;
  /** The sum of the attempts' costs. */
  cost_micro_usd: number;
  cost_state: CostState;
  saved_micro_usd: number;
  cache: "hit" | "semantic" | "shared" | "miss" | "bypass" | null;
  latency_ms: number | null;
  ttft_ms: number | null;
  overhead_ms: number | null;
  fallback_depth: number;
  hedged: boolean;
  trace_id: string | null;
  tags: Record<string, string>;
  /** Exactly what the routing function was given. */
  facts: Record<string, unknown> | null;
  /** How many like refusals this one row stands for. */
  repeated: number;
}

/** A request with its attempts: GET /admin/requests/{id}. */
export interface RequestRecord extends RequestRow {
  attempts: AttemptRow[];
}

/** A page of a list. `next_cursor` is absent on the last one. */
export interface Page<T> {
  data: T[];
  next_cursor?: string;
}
