const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Numbers above these are times since the epoch, not spans: seconds, and milliseconds. */
const EPOCH_SECONDS_MIN = 1e9;
const EPOCH_MS_MIN = 1e12;

/** Rate limits whose reset an upstream may name: requests and tokens, by the minute and by the day. */
const DIMENSIONS = ["-requests", "-tokens", "-requests-day", "-tokens-minute", ""] as const;

/** A Go-style duration (`1m30.5s`, `120ms`, `6m0s`) in ms; null for anything else. */
export function durationMs(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  }
  return finite(total);
}

/**
 * How long a provider asks to be left alone, in ms, from its headers: `retry-after-ms`, then `retry-after` as seconds, as a
 * date or as a duration, then the reset of a dimension that is used up. Only to be asked on errors: some send it with a 200.
 */
export function retryAfterMs(headers: Record<string, string>, nowMs: number): number | null {
  const exact = number(headers["retry-after-ms"]);
  if (exact !== null) return finite(exact);
  const after = headers["retry-after"]?.trim();
  if (after) {
    const asked = spanMs(after, nowMs) ?? dateMs(after, nowMs);
    if (asked !== null) return asked;
  }
  for (const dimension of DIMENSIONS) {
    const remaining = headers[`x-ratelimit-remaining${dimension}`];
    const reset = headers[`x-ratelimit-reset${dimension}`];
    // Without a dimension's name, a reset may stand alone: it is then the advice itself (Together).
    if (reset === undefined || (remaining === undefined ? dimension !== "" : number(remaining) !== 0)) continue;
    const ms = spanMs(reset.trim(), nowMs) ?? dateMs(reset.trim(), nowMs);
    if (ms !== null) return ms;
  }
  return null;
}

/** Seconds, a Go duration, or a time since the epoch. */
function spanMs(text: string, nowMs: number): number | null {
  const value = number(text);
  if (value === null) return durationMs(text);
  if (value >= EPOCH_MS_MIN) return finite(value - nowMs);
  return finite(value >= EPOCH_SECONDS_MIN ? value * 1_000 - nowMs : value * 1_000);
}

/** An HTTP date or RFC 3339; Date.parse alone would find a year in any number. */
function dateMs(text: string, nowMs: number): number | null {
  if (!/^[A-Z][a-z]{2,8}, |^\d{4}-\d{2}-\d{2}T/.test(text)) return null;
  return finite(Date.parse(text) - nowMs);
}

function number(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : null;
}

/** Whole ms, not below nothing; null for what is no time. */
function finite(ms: number): number | null {
  return Number.isFinite(ms) ? Math.max(0, Math.ceil(ms)) : null;
}
