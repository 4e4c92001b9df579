const BASE_MS = 500;
const CAP_MS = 8_000;
/** A wait longer than this is the caller's to decide on. */
const RETRY_AFTER_MAX_MS = 60_000;

/** How long an answer asks to wait: the body's own figure, `retry-after-ms`, `retry-after` (seconds or a date). */
export function readRetryAfterMs(fromBody: unknown, headers: Headers): number | undefined {
  const seconds = headers.get("retry-after");
  const candidates = [
    fromBody,
    toNumber(headers.get("retry-after-ms")),
    toNumber(seconds, 1_000),
    Date.parse(seconds ?? "") - Date.now(),
  ];
  const found = candidates.find((value): value is number => typeof value === "number" && Number.isFinite(value));
  return found === undefined ? undefined : Math.max(0, found);
}

/**
 * Milliseconds to wait before retry number `retry` (from 0), or undefined when the answer asks for too long a wait.
 * Full jitter without Retry-After; with it up to a quarter is added, so that clients told the same do not return at once.
 * `random` is in [0, 1).
 */
export function retryDelayMs(retry: number, retryAfterMs: number | undefined, random: number): number | undefined {
  if (retryAfterMs === undefined) return random * Math.min(CAP_MS, BASE_MS * 2 ** retry);
  return retryAfterMs > RETRY_AFTER_MAX_MS ? undefined : retryAfterMs * (1 + random / 4);
}

function toNumber(header: string | null, unitMs = 1): number | undefined {
  return header === null || header.trim() === "" ? undefined : Number(header) * unitMs;
}
