/** What the scores of a feedback report can be grouped by. */
export const FEEDBACK_DIMENSIONS = ["variant", "alias", "model", "template_version"] as const;

/** One of FEEDBACK_DIMENSIONS. */
export type FeedbackDimension = (typeof FEEDBACK_DIMENSIONS)[number];

/** A score as a client posts it to /v1/feedback: of a request or of a session, one of the two. */
export interface FeedbackInput {
  /** The answer's `x-request-id`. */
  request_id?: string;
  session_id?: string;
  /** What is scored: letters, digits, `.`, `_` and `-`. */
  name: string;
  /** A number, or whether it was so: `true` counts as 1 and `false` as 0. */
  value: number | boolean;
  comment?: string;
}

/** A score as the ledger keeps it. A later one of the same name for the same request or session takes its place. */
export interface FeedbackRow {
  id: string;
  /** ISO 8601, milliseconds, UTC. */
  at: string;
  tenant: string;
  key_id: string | null;
  request_id: string | null;
  session_id: string | null;
  name: string;
  value: number | boolean;
  comment: string | null;
}

/** The scores of one name in one group. Truths count as 1 and 0. */
export interface FeedbackFigures {
  name: string;
  count: number;
  mean: number;
  min: number;
  max: number;
}

/**
 * GET /admin/feedback with `by`. `from` inclusive, `to` exclusive: when the scores were given. A session's score is in the
 * group of every request that the session had made by then, once in each.
 */
export interface FeedbackReport {
  from: string;
  to: string;
  by: FeedbackDimension[];
  data: (FeedbackFigures & { [dimension: string]: string | number | null })[];
}
