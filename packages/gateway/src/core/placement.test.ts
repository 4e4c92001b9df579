import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classAllowed, regionWithin } from "./placement.ts";

describe("classes of data", () => {
  const classes = ["public", "internal", "confidential", "restricted"];

  test.each<[ceiling: string | undefined, wanted: string | null, allowed: boolean]>([
    ["internal", "public", true],
    ["internal", "internal", true],
    ["internal", "confidential", false],
    ["restricted", "restricted", true],
    // Closed by default: the lowest class is what is meant, and what is held.
    [undefined, null, true],
    [undefined, "public", true],
    [undefined, "internal", false],
    ["internal", null, true],
    // Not declared: matches nothing, in either place.
    ["internal", "secret", false],
    ["secret", "public", false],
    ["secret", null, false],
    ["secret", "secret", false],
  ])("a ceiling of %s and a class of %s: %s", (ceiling, wanted, allowed) => {
    expect(classAllowed(classes, ceiling, wanted)).toBe(allowed);
  });

  test("are not looked at where none are declared", () => {
    expect(classAllowed([], undefined, "anything")).toBe(true);
    expect(classAllowed([], "x", null)).toBe(true);
  });

  test("what holds a class holds every lower one", () => {
    const some = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(some, fc.nat(), fc.nat(), (declared, a, b) => {
        const ceiling = declared[a % declared.length];
        const wanted = declared[b % declared.length] ?? null;
        expect(classAllowed(declared, ceiling, wanted)).toBe(b % declared.length <= a % declared.length);
      }),
    );
  });
});

describe("regions", () => {
  const regions = new Map([["eu", ["eu-west", "europe-west4"]]]);

  test.each<[residency: string, region: string | null, within: boolean]>([
    ["eu-west", "eu-west", true],
    ["eu", "eu-west", true],
    ["eu", "europe-west4", true],
    ["eu", "eu", true],
    ["eu", "us-east", false],
    // A region is not the whole group, and what begins alike is not the same.
    ["eu-west", "eu", false],
    ["eu", "eu-west4", false],
    ["nowhere", "eu-west", false],
    ["eu", null, false],
    ["eu-west", null, false],
  ])("%s holds %s: %s", (residency, region, within) => {
    expect(regionWithin(regions, residency, region)).toBe(within);
  });
});
