/** A stretch of time in ISO 8601; `to` is exclusive. */
export interface TimeRange {
  from: string;
  to: string;
}

/**
 * The range of a spend report where not both ends are given: `from` is the start of the month (UTC) that `to`, or now,
 * lies in; `to` is the end of the current month. What is given is left as it is, wrong or not.
 */
export function defaultRange(given: { from?: string | undefined; to?: string | undefined }, nowMs: number): TimeRange {
  const to = given.to ?? monthStart(nowMs, 1);
  if (given.from !== undefined) return { from: given.from, to };
  const toMs = Date.parse(to);
  // The end is exclusive: a range that ends where a month begins lies in the month before.
  return { from: monthStart(Number.isNaN(toMs) ? nowMs : toMs - 1, 0), to };
}

/** The day (UTC) that a moment lies in. */
export function dayOf(nowMs: number): TimeRange {
  const dayMs = 86_400_000;
  const start = Math.floor(nowMs / dayMs) * dayMs;
  return { from: new Date(start).toISOString(), to: new Date(start + dayMs).toISOString() };
}

function monthStart(ms: number, later: number): string {
  const date = new Date(ms);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1)).toISOString();
}
