/** The moment and the second that were written last: times of requests come in order. The memory of a pure function, and nothing else. */
const LAST = { ms: Number.NaN, whole: "", second: Number.NaN, text: "" };

/** The last moment that a Date can say (ECMA-262, 21.4.1.1). */
const LAST_MOMENT_MS = 8.64e15;

/** A moment (epoch ms) as `Date#toISOString` writes it, for a fraction of its price. Throws RangeError for no moment at all. */
export function isoTime(ms: number): string {
  if (ms === LAST.ms) return LAST.whole;
  if (!(ms >= 0 && ms <= LAST_MOMENT_MS)) return new Date(ms).toISOString();
  const whole = Math.trunc(ms);
  const second = Math.floor(whole / 1_000);
  if (second !== LAST.second) {
    LAST.text = new Date(second * 1_000).toISOString().slice(0, -4);
    LAST.second = second;
  }
  const rest = whole - second * 1_000;
  LAST.ms = ms;
  LAST.whole = `${LAST.text}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`;
  return LAST.whole;
}
