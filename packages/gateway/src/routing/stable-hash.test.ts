import { describe, expect, test } from "vitest";
import { drawOf, unitOf } from "./stable-hash.ts";

describe("a hash that others can work out", () => {
  // The first four bytes of `printf TEXT | sha256sum`, over 2^32.
  test.each([
    ["", 0xe3b0c442],
    ["abc", 0xba7816bf],
    ["grüße", 0x8285d1ad],
  ])("%j", (text, first) => {
    expect(unitOf(text)).toBe(first / 2 ** 32);
  });
});

describe("draws from one draw", () => {
  test("are the same for the same", () => {
    expect(drawOf(0.123, 4)).toBe(drawOf(0.123, 4));
  });

  test("lie in [0, 1), evenly and independent of each other", () => {
    const count = 20_000;
    let both = 0;
    let low = 0;
    let outside = false;
    for (let i = 0; i < count; i++) {
      const draw = (i + 0.5) / count;
      const [a, b] = [drawOf(draw, 0), drawOf(draw, 1)];
      outside ||= Math.min(a, b) < 0 || Math.max(a, b) >= 1;
      if (a < 0.3) low++;
      if (a < 0.3 && b < 0.3) both++;
    }
    expect(outside).toBe(false);
    // Five standard deviations.
    expect(Math.abs(low - 0.3 * count)).toBeLessThan(5 * Math.sqrt(count * 0.3 * 0.7));
    expect(Math.abs(both - 0.09 * count)).toBeLessThan(5 * Math.sqrt(count * 0.09 * 0.91));
  });
});
