import { expect, test } from "vitest";
import { modelChanges } from "./model-changes.ts";
import type { Snapshot } from "./snapshot.ts";
import { lines, loadText } from "./test/load-text.ts";

const BASE = `providers: { sim: { kind: simulator }, two: { kind: simulator } }
deployments: { d: { provider: sim, model: m-1 } }
classifications: [public, secret]
routes:
  a: { chain: [d, sim/x] }
  b: { chain: [sim/y], tenant_overrides: { t: [sim/z] }, canary: { deployment: sim/n, percent: 5, variant: n } }
  c: { chain: [sim/y], complexity: { cheap: a, capable: sim/z } }
rules: [{ name: r, when: { classification: [public], alias: [a] }, chain: [sim/y] }]
tenants: { t: { models: "*" } }
`;

async function load(text: string): Promise<Snapshot> {
  const loaded = await loadText(text);
  if (!loaded.snapshot) throw new Error(lines(loaded).join("\n"));
  return loaded.snapshot;
}

/** Aliases that lead elsewhere once `from` in the config is `to`. */
async function changed(from: string, to: string): Promise<string[]> {
  expect(BASE).toContain(from);
  return modelChanges(await load(BASE), await load(BASE.replace(from, to))).map(({ alias }) => alias);
}

test.each<[what: string, from: string, to: string, aliases: string[]]>([
  ["nothing", "m-1", "m-1", []],
  ["a model of a deployment", "m-1", "m-2", ["a"]],
  ["a provider of a deployment", "provider: sim", "provider: two", ["a"]],
  ["a chain", "[d, sim/x]", "[sim/x, d]", ["a"]],
  ["an override", "[sim/z]", "[sim/q]", ["b"]],
  ["an arm", "sim/n", "sim/q", ["b"]],
  ["its share", "percent: 5", "percent: 50", ["b"]],
  ["a branch", "capable: sim/z", "capable: sim/q", ["c"]],
  ["a rule's chain", "chain: [sim/y] }]", "chain: [sim/q] }]", ["a"]],
  ["whom a rule is for", ", alias: [a] }", " }", ["b", "c"]],
  ["whom else a rule is for", "alias: [a] }", "alias: [a, b] }", ["b"]],
  ["a rule that only watches now", "chain: [sim/y] }]", "chain: [sim/y], mode: shadow }]", ["a"]],
  ["a new alias", "routes:", "routes:\n  new: { chain: [d] }", ["new"]],
  ["an alias that is gone", "  c: { chain: [sim/y], complexity: { cheap: a, capable: sim/z } }\n", "", []],
  ["timeouts", "[d, sim/x] }", "[d, sim/x], timeouts: { hop: 5s } }", []],
])("changes: %s", async (_, from, to, aliases) => {
  expect(await changed(from, to)).toEqual(aliases);
});

test("what is sent holds both sides in the words of the config", async () => {
  const [change] = modelChanges(await load(BASE), await load(BASE.replace("m-1", "m-2")));
  const x = { deployment: "sim/x", provider: "sim", model: "x" };
  const side = (model: string) => ({
    chain: [{ deployment: "d", provider: "sim", model }, x],
    ...{ tenant_overrides: {}, canary: [] },
    rules: [
      {
        ...{ name: "r", when: { classification: ["public"], alias: ["a"] }, unless: null },
        chain: [{ deployment: "sim/y", provider: "sim", model: "y" }],
      },
    ],
  });
  expect(change).toEqual({ alias: "a", before: side("m-1"), after: side("m-2") });
});
