/** What spend can be grouped by, besides `tag:NAME`. */
export const SPEND_DIMENSIONS = [
  "tenant",
  "team",
  "application",
  "agent",
  "user",
  "session",
  "key",
  "alias",
  "route",
  "rule",
  "variant",
  "deployment",
  "provider",
  "model",
  "region",
  "capacity",
  "dialect",
  "status",
  "error_code",
  "finish_reason",
  "purpose",
  "credential",
  "template_version",
  "task_class",
  "classification",
  "day",
  "hour",
] as const;

/** One of SPEND_DIMENSIONS. */
export type SpendDimension = (typeof SPEND_DIMENSIONS)[number];

/** The figures of one spend row. Money is integer micro-USD; `cost_usd` is the same as a decimal string. */
export interface SpendFigures {
  requests: number;
  attempts: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  cost_micro_usd: number;
  cost_usd: string;
  saved_micro_usd: number;
  unknown_cost_requests: number;
  active_users: number;
  cost_per_active_user_micro_usd: number | null;
}

/** One row: the dimensions asked for, by name, and the figures. A dimension without a value is null. */
export type SpendRow = SpendFigures & { [dimension: string]: string | number | null };

/** GET /admin/spend. `from` inclusive, `to` exclusive, ISO 8601; rows by cost, highest first. */
export interface SpendReport {
  from: string;
  to: string;
  by: string[];
  data: SpendRow[];
  total: SpendFigures;
}
