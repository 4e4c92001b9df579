import { ownText } from "../core/own-text.ts";

const MINUTE_CHARS = "2026-11-01T12:00:".length;
const ISO_CHARS = "2026-11-01T12:00:00.000Z".length;
const [DOT, ZERO, Z] = [46, 48, 90];

/** The minute that was read last: rows come nearly in order. The memory of a pure function, and nothing else. */
const LAST = { minute: "", ms: 0 };

/** What `Date.parse` says, for a fraction of its price where a time is written as `Date#toISOString` writes it. */
export function startedMs(text: string): number {
  if (text.length !== ISO_CHARS || text.charCodeAt(19) !== DOT || text.charCodeAt(23) !== Z) return Date.parse(text);
  const seconds = digits(text, 17, 2);
  const ms = digits(text, 20, 3);
  if (!(seconds < 60) || Number.isNaN(ms)) return Date.parse(text);
  if (LAST.minute === "" || !text.startsWith(LAST.minute)) {
    const minute = text.slice(0, MINUTE_CHARS);
    const startMs = Date.parse(`${minute}00.000Z`);
    // Not every way to write a minute goes together with all seconds: 24:00 does not.
    if (Number.isNaN(startMs) || !new Date(startMs).toISOString().startsWith(minute)) return Date.parse(text);
    LAST.minute = ownText(minute);
    LAST.ms = startMs;
  }
  return LAST.ms + seconds * 1_000 + ms;
}

/** So many digits as a number, or NaN. */
function digits(text: string, from: number, count: number): number {
  let number = 0;
  for (let at = from; at < from + count; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    number = digit >= 0 && digit <= 9 ? number * 10 + digit : Number.NaN;
  }
  return number;
}
