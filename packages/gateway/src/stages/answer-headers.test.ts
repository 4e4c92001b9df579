import fc from "fast-check";
import { expect, it } from "vitest";
import type { Circuit } from "../core/health.ts";
import { utf8AsLatin1 } from "../core/latin1-text.ts";
import { LIMITS } from "../core/limits.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { metadataOf, metadataText, type Served, servedHeaders } from "./answer-headers.ts";
import { servedNames } from "./served-names.ts";

const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b") },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  { weight: 1, arbitrary: fc.constantFrom('"', "\r\n", "é", "\ud800", "x".repeat(2 * LIMITS.labelCharsMax)) },
);
const tenths = fc.nat().map((n) => n / 10);
/** Two deployments, so that answers of one meet the names that were kept for it. */
const deployments = fc.record({ name, provider: name, retires: fc.constant(null) });
const rest = fc.record({
  alias: name,
  model: name,
  dropped: fc.array(name, { maxLength: 2 }),
  attempts: fc.nat(),
  fallbackDepth: fc.nat(),
  hedged: fc.boolean(),
  variant: fc.option(name),
  circuit: fc.constantFrom<Circuit>("closed", "open", "half_open"),
  costMicroUsd: fc.option(fc.oneof(fc.nat(), fc.integer(), fc.maxSafeNat(), fc.constantFrom(0, 1, 1_000_000))),
  overheadMs: tenths,
  latencyMs: fc.oneof(tenths, fc.double({ noNaN: true })),
  expose: fc.constantFrom<Served["expose"]>("full", "full", "minimal"),
});

const visit = {
  ...{ requestId: "req_1", clientRequestId: null, protocol: openaiChat },
  ...{ startedAt: 0, arrivedAt: 0, waitedMs: 0 },
};

it("says in JSON text what the metadata are, whatever was said of the deployment before", () => {
  fc.assert(
    fc.property(deployments, fc.array(rest, { maxLength: 20 }), (deployment, answers) => {
      for (const answer of answers) {
        const served: Served = { ...answer, visit, deployment };
        expect(metadataText(served)).toBe(utf8AsLatin1(JSON.stringify(metadataOf(served))));
      }
    }),
  );
});

it("names in headers what served, safely, whatever was named before", () => {
  fc.assert(
    fc.property(deployments, fc.array(rest, { maxLength: 20 }), (deployment, answers) => {
      for (const answer of answers) {
        const headers = servedHeaders({ ...answer, visit, deployment });
        // Of a deployment that nothing was kept for.
        expect(headers).toEqual(servedHeaders({ ...answer, visit, deployment: { ...deployment } }));
        expect(headers.every((text) => /^[\x20-\x7e]*$/.test(text))).toBe(true);
      }
    }),
  );
});

it("puts readable names into headers as they are", () => {
  const deployment = { name: "first", provider: "up", retires: null };
  const [answer] = fc.sample(rest, { numRuns: 1, seed: 1 });
  if (!answer) throw new Error("no answer");
  const of = (alias: string, model: string): string[] =>
    servedHeaders({ ...answer, visit, deployment, alias, model, expose: "full" }).slice(4, 12);
  for (let n = 0; n < 2 * LIMITS.servedNamesMax; n++)
    expect(of(`alias-${n}`, `model-${n}`)).toEqual([
      ...["x-sluicegate-alias", `alias-${n}`, "x-sluicegate-deployment", "first"],
      ...["x-sluicegate-provider", "up", "x-sluicegate-model", `model-${n}`],
    ]);
});

it("keeps the names of the latest few answers of a deployment", () => {
  const deployment = { name: "d", provider: "p" };
  const first = servedNames(deployment, "a", "m");
  const others = Array.from({ length: LIMITS.servedNamesMax - 1 }, (_, n) => servedNames(deployment, "a", `m${n}`));
  expect(servedNames(deployment, "a", "m")).toBe(first);
  servedNames(deployment, "a", "one more");
  expect(servedNames(deployment, "a", "m0")).toBe(others[0]);
  expect(servedNames(deployment, "a", "m")).not.toBe(first);
});
