import { describe, expect, it } from "vitest";
import { readRetryAfterMs, retryDelayMs } from "./retry-delay.ts";

describe("readRetryAfterMs", () => {
  it("takes the body's figure, then milliseconds, then seconds, then a date", () => {
    const date = new Date(Date.now() + 30_000).toUTCString();
    expect(readRetryAfterMs(5, new Headers({ "retry-after-ms": "6", "retry-after": "7" }))).toBe(5);
    expect(readRetryAfterMs(undefined, new Headers({ "retry-after-ms": "6", "retry-after": "7" }))).toBe(6);
    expect(readRetryAfterMs(undefined, new Headers({ "retry-after": "1.5" }))).toBe(1_500);
    expect(readRetryAfterMs(undefined, new Headers({ "retry-after": date }))).toBeGreaterThan(25_000);
    expect(readRetryAfterMs(undefined, new Headers({ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }))).toBe(0);
  });

  it("ignores what is no time", () => {
    expect(readRetryAfterMs("soon", new Headers({ "retry-after": "soon" }))).toBeUndefined();
    expect(readRetryAfterMs(undefined, new Headers())).toBeUndefined();
  });
});

describe("retryDelayMs", () => {
  it("doubles up to a cap, with full jitter", () => {
    expect([0, 1, 2, 9].map((retry) => retryDelayMs(retry, undefined, 1))).toEqual([500, 1_000, 2_000, 8_000]);
    expect(retryDelayMs(3, undefined, 0)).toBe(0);
  });

  it("never comes back before Retry-After, and gives up on a long one", () => {
    expect(retryDelayMs(0, 2_000, 0)).toBe(2_000);
    expect(retryDelayMs(0, 2_000, 1)).toBe(2_500);
    expect(retryDelayMs(0, 60_001, 0)).toBeUndefined();
  });
});
