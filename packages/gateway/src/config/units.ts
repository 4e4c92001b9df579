const DURATION_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE_BYTES: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

/** How a duration is written, for messages. */
export const DURATION_FORM = "a number and a unit, one of ms, s, m, h, d, as in `500ms` or `10s`";

/** How a size is written, for messages. */
export const SIZE_FORM = "a number and a unit, one of B, KiB, MiB, GiB, TiB, as in `32MiB`";

/** How a date is written, for messages. */
export const DATE_FORM = "a day as in `2027-01-01` (UTC) or a time as in `2027-01-01T09:00:00Z`";

/** Milliseconds of `500ms`, `10s`, `1.5h`, rounded to whole ones; null when it is no duration. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text);
  return match ? Math.round(Number(match[1]) * (DURATION_MS[match[2] ?? ""] ?? 0)) : null;
}

/** Bytes of `32MiB`, rounded to whole ones; null when it is no size. */
export function parseSize(text: string): number | null {
  const match = /^(\d{1,12}(?:\.\d{1,6})?)(B|KiB|MiB|GiB|TiB)$/.exec(text);
  if (!match) return null;
  const bytes = Math.round(Number(match[1]) * (SIZE_BYTES[match[2] ?? ""] ?? 0));
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** Epoch milliseconds of a calendar day (its start in UTC) or of an ISO 8601 time with its offset; null when it is neither. */
export function parseDate(text: string): number | null {
  const match = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text);
  const day = match?.[1];
  if (day === undefined) return null;
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  // Date.parse rolls 02-30 over into March; a day that does not come back the same does not exist.
  if (Number.isNaN(dayMs) || new Date(dayMs).toISOString().slice(0, 10) !== day) return null;
  const ms = match?.[2] === undefined ? dayMs : Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
