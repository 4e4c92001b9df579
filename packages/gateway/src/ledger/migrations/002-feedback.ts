/**
 * Scores of requests and sessions. Times are epoch milliseconds; `is_truth`: the value was true (1) or false (0).
 * `target` is a request id or a session, as `target_kind` says; it is looked for inside its tenant only.
 */
export const sql = `
CREATE TABLE feedback (
  tenant TEXT NOT NULL,
  target_kind TEXT NOT NULL CHECK (target_kind IN ('request', 'session')),
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL CHECK (typeof(at) = 'integer'),
  key_id TEXT,
  value REAL NOT NULL,
  is_truth INTEGER NOT NULL,
  comment TEXT,
  PRIMARY KEY (tenant, target_kind, target, name)
) WITHOUT ROWID;
CREATE INDEX feedback_by_time ON feedback (at, id);
CREATE INDEX requests_by_session ON requests (tenant, session, started_at) WHERE session IS NOT NULL;
`;
