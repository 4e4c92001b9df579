/**
 * Most requests have one attempt, which says little that the request has not said: `attempt_status` is set where it is kept
 * in the request's own row, and the other columns of that name say the rest. `attempt_rows` has all other attempts, and
 * those that were written before. `attempts` shows both; a join with it reads all of them first, so look up by request.
 */
export const sql = `
ALTER TABLE attempts RENAME TO attempt_rows;
ALTER TABLE requests ADD COLUMN attempt_status TEXT;
ALTER TABLE requests ADD COLUMN attempt_error_class TEXT;
ALTER TABLE requests ADD COLUMN attempt_http_status INTEGER;
ALTER TABLE requests ADD COLUMN attempt_latency_ms REAL;
ALTER TABLE requests ADD COLUMN attempt_ttft_ms REAL;
ALTER TABLE requests ADD COLUMN attempt_hedge INTEGER;
ALTER TABLE requests ADD COLUMN attempt_retry INTEGER;
ALTER TABLE requests ADD COLUMN attempt_credential_name TEXT;
ALTER TABLE requests ADD COLUMN attempt_credential_generation INTEGER;
ALTER TABLE requests ADD COLUMN attempt_credential_owner TEXT;
ALTER TABLE requests ADD COLUMN attempt_provider_request_id TEXT;
ALTER TABLE requests ADD COLUMN attempt_capacity TEXT;

CREATE VIEW attempts AS
SELECT request_id, n, deployment, provider, model, region, capacity, status, error_class, http_status,
  input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens,
  cost_micro_usd, cost_state, latency_ms, ttft_ms, hedge, retry,
  credential_name, credential_generation, credential_owner, provider_request_id
FROM attempt_rows
UNION ALL
SELECT request_id, last_attempt, deployment, provider, model, region, attempt_capacity, attempt_status,
  attempt_error_class, attempt_http_status,
  input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens,
  cost_micro_usd, cost_state, attempt_latency_ms, attempt_ttft_ms, attempt_hedge, attempt_retry,
  attempt_credential_name, attempt_credential_generation, attempt_credential_owner, attempt_provider_request_id
FROM requests WHERE attempt_status IS NOT NULL;
`;
