/** What an alert can be about: the names that `alerts[].kinds` of a config takes. */
export const ALERT_KINDS = [
  "breaker_opened",
  "credential_failure",
  "missing_price",
  "model_drift",
  "model_retiring",
] as const;

/** One of ALERT_KINDS. */
export type AlertKind = (typeof ALERT_KINDS)[number];
