import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { durationMs, retryAfterMs } from "./retry-hint.ts";

const NOW = Date.UTC(2026, 10, 29, 12, 0, 0);

describe("retryAfterMs", () => {
  it.each<[Record<string, string>, number | null]>([
    [{}, null],
    [{ "retry-after-ms": "9816", "retry-after": "10" }, 9_816],
    [{ "retry-after-ms": "0.5" }, 1],
    [{ "retry-after-ms": "0" }, 0],
    [{ "retry-after": "10" }, 10_000],
    [{ "retry-after": " 10 " }, 10_000],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT" }, 30_000],
    [{ "retry-after": "Sunday, 29-Nov-26 12:00:30 GMT" }, 30_000],
    // A date that has passed: now.
    [{ "retry-after": "Sun, 29 Nov 2026 11:00:00 GMT" }, 0],
    [{ "retry-after": "2026-11-29T12:00:05Z" }, 5_000],
    [{ "retry-after": "34.4s" }, 34_400],
    [{ "retry-after": "1m30s" }, 90_000],
    // What is no time says nothing: above all, not "at once".
    [{ "retry-after-ms": "" }, null],
    [{ "retry-after-ms": "soon" }, null],
    [{ "retry-after-ms": "soon", "retry-after": "2" }, 2_000],
    [{ "retry-after-ms": "-5" }, null],
    [{ "retry-after": "" }, null],
    [{ "retry-after": "-5" }, null],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "attempt 5" }, null],
    [{ "retry-after": "Infinity" }, null],
    [{ "retry-after": "1e3" }, null],
    [{ "retry-after": `${"9".repeat(400)}` }, null],
    [{ "retry-after": "NaN" }, null],
    // The dimension that is used up, and only that one.
    [
      {
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "9.816s",
      },
      9_816,
    ],
    [
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "6m0s",
        "x-ratelimit-remaining-tokens": "5",
        "x-ratelimit-reset-tokens": "1s",
      },
      360_000,
    ],
    [{ "x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "6m0s" }, null],
    [{ "x-ratelimit-reset-requests": "6m0s" }, null],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "12" }, 12_000],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2026-11-29T12:00:17Z" }, 17_000],
    [{ "x-ratelimit-remaining-tokens": "0" }, null],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "later" }, null],
    // Cerebras.
    [{ "x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "33.5" }, 33_500],
    // Together: the advice alone. OpenRouter: milliseconds since the epoch; others: seconds.
    [{ "x-ratelimit-reset": "3" }, 3_000],
    [{ "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW + 7_000}` }, 7_000],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW / 1_000 + 9}` }, 9_000],
    [{ "x-ratelimit-remaining": "0", "x-ratelimit-reset": `${NOW - 7_000}` }, 0],
    [{ "x-ratelimit-remaining": "4", "x-ratelimit-reset": `${NOW + 7_000}` }, null],
    // The provider's own word goes before the meter's.
    [{ "retry-after": "2", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "60s" }, 2_000],
  ])("%j → %s", (headers, expected) => {
    expect(retryAfterMs(headers, NOW)).toBe(expected);
  });

  it("is a whole number of ms that is not below nothing, or null, whatever stands there", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    const name = fc.constantFrom(
      "retry-after",
      "retry-after-ms",
      "x-ratelimit-reset",
      "x-ratelimit-remaining-tokens",
      "x-ratelimit-reset-tokens",
    );
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        const ms = retryAfterMs(headers, NOW);
        expect(ms === null || (Number.isInteger(ms) && ms >= 0)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("durationMs", () => {
  it.each([
    ["12ms", 12],
    ["1s", 1_000],
    ["6m0s", 360_000],
    ["1m30.5s", 90_500],
    ["2h", 7_200_000],
    ["1d2h", 93_600_000],
    ["7m12s", 432_000],
    ["0s", 0],
  ])("%s", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it.each(["", "s", "5", "5 s", "-5s", "5s later", "5x", "1.s", ".5s"])("%j is none", (text) => {
    expect(durationMs(text)).toBeNull();
  });
});
