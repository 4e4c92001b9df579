import fc from "fast-check";
import { expect, it } from "vitest";
import { OutputEstimates } from "./output-estimate.ts";

function learned(lengths: readonly number[]): OutputEstimates {
  const estimates = new OutputEstimates();
  for (const length of lengths) estimates.observe("m", length);
  return estimates;
}

it("takes the client's own cap, held to what the model can write", () => {
  const estimates = learned(Array(100).fill(10));
  expect(estimates.tokens("m", 300, null)).toBe(300);
  expect(estimates.tokens("m", 300, 200)).toBe(200);
  expect(estimates.tokens("m", 1, 200)).toBe(1);
});

it("guesses until 50 answers are known, then knows", () => {
  const estimates = learned(Array(49).fill(10));
  expect(estimates.tokens("m", null, null)).toBe(1_024);
  expect(estimates.tokens("m", null, 400)).toBe(400);
  estimates.observe("m", 10);
  expect(estimates.tokens("m", null, 400)).toBe(10);
  expect(estimates.tokens("other", null, null)).toBe(1_024);
});

it("is the 95th in a hundred, and follows a model that has changed", () => {
  const most = [...Array(106).fill(5), ...Array(6).fill(900)];
  expect(learned(most).tokens("m", null, null)).toBe(900);
  const fewer = [...Array(107).fill(5), ...Array(5).fill(900)];
  const estimates = learned(fewer);
  expect(estimates.tokens("m", null, null)).toBe(5);
  for (let i = 0; i < 300; i++) estimates.observe("m", 7);
  expect(estimates.tokens("m", null, null)).toBe(7);
});

it("lies between what was seen, with at most 5 % above it", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 100_000 }), { minLength: 50, maxLength: 50 }), (lengths) => {
      const estimate = learned(lengths).tokens("m", null, null);
      expect(lengths).toContain(estimate);
      expect(lengths.filter((length) => length > estimate).length).toBeLessThanOrEqual(2);
      expect(lengths.filter((length) => length >= estimate).length).toBeGreaterThanOrEqual(3);
    }),
  );
});

it("forgets the model that answered longest ago, not the busy one", () => {
  const estimates = learned(Array(60).fill(10));
  for (let i = 0; i < 999; i++) estimates.observe(`m${i}`, 1);
  estimates.observe("m", 10);
  for (let i = 0; i < 500; i++) estimates.observe(`n${i}`, 1);
  expect(estimates.tokens("m", null, null)).toBe(10);
  for (let i = 0; i < 1_000; i++) estimates.observe(`o${i}`, 1);
  expect(estimates.tokens("m", null, null)).toBe(1_024);
});

/** The figure by the letter: made at the 50th answer and at every 16th after it, of the last 256. */
function byTheLetter(lengths: readonly number[]): number {
  let figure = 1_024;
  for (let count = 50; count <= lengths.length; count++) {
    if (count !== 50 && count % 16 !== 0) continue;
    const sorted = lengths.slice(Math.max(0, count - 256), count).toSorted((a, b) => a - b);
    figure = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? figure;
  }
  return figure;
}

it("is the same figure whenever and however often it is asked for, whoever else answers", () => {
  const lengths = fc.array(fc.nat({ max: 5_000 }), { maxLength: 700, size: "max" });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 90 }), fc.boolean(), (all, every, others) => {
      const estimates = new OutputEstimates();
      for (const [i, length] of all.entries()) {
        estimates.observe("m", length);
        if (others) estimates.observe("other", 1);
        if (i % every === 0) expect(estimates.tokens("m", null, null)).toBe(byTheLetter(all.slice(0, i + 1)));
      }
      expect(estimates.tokens("m", null, null)).toBe(byTheLetter(all));
    }),
    { numRuns: 40 },
  );
});
