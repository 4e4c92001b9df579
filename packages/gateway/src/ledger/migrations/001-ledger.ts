/**
 * Requests, attempts and keys. Times are epoch milliseconds, money integer micro-USD.
 * `pending` and `instance` are set on running rows only: who runs it, and its admission, for when that gateway dies.
 */
export const sql = `
CREATE TABLE requests (
  request_id TEXT NOT NULL PRIMARY KEY,
  client_request_id TEXT,
  parent_request_id TEXT,
  purpose TEXT NOT NULL,
  started_at INTEGER NOT NULL CHECK (typeof(started_at) = 'integer'),
  tenant TEXT NOT NULL,
  team TEXT,
  application TEXT,
  agent TEXT,
  user TEXT,
  session TEXT,
  key_id TEXT,
  alias TEXT,
  route TEXT,
  rule TEXT,
  variant TEXT,
  dialect TEXT NOT NULL,
  stream INTEGER NOT NULL,
  status TEXT NOT NULL,
  error_code TEXT,
  finish_reason TEXT,
  deployment TEXT,
  provider TEXT,
  model TEXT,
  response_model TEXT,
  region TEXT,
  template_version TEXT,
  task_class TEXT,
  classification TEXT,
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_micro_usd INTEGER NOT NULL CHECK (typeof(cost_micro_usd) = 'integer'),
  cost_state TEXT NOT NULL,
  saved_micro_usd INTEGER NOT NULL CHECK (typeof(saved_micro_usd) = 'integer'),
  cache TEXT,
  latency_ms REAL,
  ttft_ms REAL,
  overhead_ms REAL,
  fallback_depth INTEGER NOT NULL,
  hedged INTEGER NOT NULL,
  trace_id TEXT,
  tags TEXT NOT NULL,
  facts TEXT,
  repeated INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL,
  last_attempt INTEGER NOT NULL,
  instance TEXT,
  pending TEXT
);
CREATE INDEX requests_by_time ON requests (started_at, request_id);
CREATE INDEX requests_by_tenant ON requests (tenant, started_at, request_id);
CREATE INDEX requests_not_ok ON requests (status, started_at, request_id) WHERE status <> 'ok';
CREATE INDEX requests_running ON requests (instance) WHERE status = 'running';

CREATE TABLE attempts (
  request_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  deployment TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  region TEXT,
  capacity TEXT,
  status TEXT NOT NULL,
  error_class TEXT,
  http_status INTEGER,
  input_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  cost_micro_usd INTEGER NOT NULL CHECK (typeof(cost_micro_usd) = 'integer'),
  cost_state TEXT NOT NULL,
  latency_ms REAL NOT NULL,
  ttft_ms REAL,
  hedge INTEGER NOT NULL,
  retry INTEGER NOT NULL,
  credential_name TEXT,
  credential_generation INTEGER,
  credential_owner TEXT,
  provider_request_id TEXT,
  PRIMARY KEY (request_id, n)
) WITHOUT ROWID;

CREATE TABLE keys (
  id TEXT NOT NULL PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  team TEXT,
  application TEXT,
  name TEXT,
  models TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
);

CREATE TABLE revisions (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO revisions (name, value) VALUES ('keys', 0);
`;
