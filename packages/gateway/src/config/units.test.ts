import fc from "fast-check";
import { expect, test } from "vitest";
import { isUsdPerMillion, parseUsdPerMillion } from "../core/price.ts";
import { didYouMean, nearest } from "./nearest.ts";
import { parseDate, parseDuration, parseSize } from "./units.ts";

test.each([
  ["500ms", 500],
  ["10s", 10_000],
  ["5m", 300_000],
  ["1h", 3_600_000],
  ["90d", 7_776_000_000],
  ["1.5h", 5_400_000],
  ["0s", 0],
  ["5 min", null],
  ["10", null],
  ["-1s", null],
  ["1h30m", null],
  ["10S", null],
  ["", null],
])("duration %s", (written, ms) => expect(parseDuration(written)).toBe(ms));

test.each([
  ["32MiB", 33_554_432],
  ["1GiB", 1_073_741_824],
  ["0.5KiB", 512],
  ["10B", 10],
  ["32MB", null],
  ["32", null],
  ["9999999TiB", null],
])("size %s", (written, bytes) => expect(parseSize(written)).toBe(bytes));

test.each([
  ["2027-01-01", "2027-01-01T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["2027-01-01T09:30:00Z", "2027-01-01T09:30:00.000Z"],
  ["2027-01-01T09:30+02:00", "2027-01-01T07:30:00.000Z"],
  ["2027-02-29", null],
  ["2027-13-01", null],
  ["2027-01-01T25:00:00Z", null],
  ["2027-01-01 09:30", null],
  ["2027-1-1", null],
  ["tomorrow", null],
])("date %s", (written, iso) => expect(parseDate(written)).toBe(iso === null ? null : Date.parse(iso)));

test("a price of up to nine decimals is exact in nano-dollars", () => {
  fc.assert(
    fc.property(fc.nat({ max: 999_999 }), fc.nat({ max: 999_999_999 }), (whole, nano) => {
      const written = Number(`${whole}.${String(nano).padStart(9, "0")}`);
      expect(parseUsdPerMillion(written)).toBe(whole * 1e9 + nano);
    }),
  );
  expect(parseUsdPerMillion(0.075)).toBe(75_000_000);
  expect(isUsdPerMillion(0.0000000001)).toBe(false);
});

test.each([
  ["chian", "chain"],
  ["gpt-uae", "gpt-uae-ptu"],
  ["base-url", "base_url"],
  ["Provider", "provider"],
  ["x", null],
  ["completely different", null],
])("nearest to %s", (name, near) => {
  expect(nearest(name, ["chain", "gpt-uae-payg", "gpt-uae-ptu", "base_url", "provider"])).toBe(near);
});

test("nothing near is nothing said", () => {
  expect(didYouMean("chian", ["chain"])).toBe("; did you mean `chain`?");
  expect(didYouMean("a".repeat(1_000), ["a".repeat(1_001)])).toBe("");
  expect(didYouMean("x", [])).toBe("");
});
