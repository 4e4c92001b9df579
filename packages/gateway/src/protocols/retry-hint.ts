const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A Go-style duration (`1m30.5s`, `120ms`, `6m0s`) in ms; null for anything else. */
export function goDurationMs(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    total += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  return Math.ceil(total);
}

/**
 * How long a provider asks to be left alone, in ms, from its headers: `retry-after-ms`, then `retry-after` as seconds or as an
 * HTTP date, then the reset of the dimension that is used up. Only to be asked on errors: some send it with a 200.
 */
export function retryAfterMs(headers: Record<string, string>, nowMs: number): number | null {
  const exact = Number(headers["retry-after-ms"]);
  if (headers["retry-after-ms"] !== undefined && exact >= 0) return Math.ceil(exact);
  const after = headers["retry-after"];
  if (after !== undefined && after.trim() !== "") {
    const seconds = Number(after);
    if (seconds >= 0) return Math.ceil(seconds * 1_000);
    const date = Date.parse(after);
    if (!Number.isNaN(date)) return Math.max(0, date - nowMs);
    return goDurationMs(after.trim());
  }
  for (const dimension of ["requests", "tokens"]) {
    if (headers[`x-ratelimit-remaining-${dimension}`] !== "0") continue;
    const reset = headers[`x-ratelimit-reset-${dimension}`];
    const ms =
      reset === undefined
        ? null
        : (goDurationMs(reset) ?? (Number(reset) >= 0 ? Math.ceil(Number(reset) * 1_000) : null));
    if (ms !== null) return ms;
  }
  return null;
}
