import fc from "fast-check";
import { expect, test } from "vitest";
import type { RuleMatch } from "../snapshot.ts";
import { fieldsOf, matchesApart, matchesInside, withoutAll } from "./match-space.ts";

const values = fc.uniqueArray(fc.constantFrom("x", "y", "z"), { minLength: 1 });
const match: fc.Arbitrary<RuleMatch> = fc.record(
  { tenant: values, agent: values, tags: fc.dictionary(fc.constantFrom("a", "b"), values) },
  { requiredKeys: [] },
);
const one = fc.option(fc.constantFrom("x", "y", "z", "other"), { nil: undefined });
const request = fc.record({ tenant: one, agent: one, a: one, b: one });

/** What a match means, told apart from how matches are compared. */
function isMet({ tenant, agent, tags = {} }: RuleMatch, asked: Record<string, string | undefined>): boolean {
  const has = (wanted: readonly string[] | undefined, value: string | undefined) =>
    wanted === undefined || (value !== undefined && wanted.includes(value));
  return (
    has(tenant, asked["tenant"]) &&
    has(agent, asked["agent"]) &&
    has(tags["a"], asked["a"]) &&
    has(tags["b"], asked["b"])
  );
}

test("what matches inside another meets it, and what matches apart never meets both", () => {
  const seen = { inside: 0, apart: 0 };
  fc.assert(
    fc.property(match, match, request, (inside, around, asked) => {
      const [inner, outer] = [fieldsOf(inside), fieldsOf(around)];
      if (matchesInside(inner, outer) && isMet(inside, asked)) {
        seen.inside++;
        expect(isMet(around, asked)).toBe(true);
      }
      if (matchesApart(inner, outer)) {
        seen.apart++;
        expect(isMet(inside, asked) && isMet(around, asked)).toBe(false);
      }
    }),
    { numRuns: 2_000, seed: 7 },
  );
  expect(Math.min(seen.inside, seen.apart)).toBeGreaterThan(20);
});

test("a field that lets every value in says nothing, where there is no other value", () => {
  const sets = { tenant: new Set(["x", "y"]) };
  const telling = (match: RuleMatch) => Object.fromEntries(withoutAll(fieldsOf(match), sets));
  expect(telling({ tenant: ["y", "x"], agent: ["x", "y"] })).toEqual({ agent: ["x", "y"] });
  expect(telling({ tenant: ["x"] })).toEqual({ tenant: ["x"] });
  expect(telling({ tags: { tenant: ["x", "y"] } })).toEqual({ "tags.tenant": ["x", "y"] });
});
