import { describe, expect, test } from "vitest";
import { provider, testRefused } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

const at = (probe: string): string => provider(`x: { kind: simulator, probe: ${probe} }`);

describe("what is refused", () => {
  testRefused([
    ["an interval without a unit", at("{ every: ▸30 }"), "providers.x.probe.every", "is not a duration"],
    ["an interval that hammers", at("{ every: ▸999ms }"), "providers.x.probe.every", "`every` is under 1s"],
    [
      "a timeout that outlives the interval",
      at("{ every: 5s, timeout: ▸6s }"),
      "providers.x.probe.timeout",
      "`timeout` is longer than `every`",
    ],
    [
      "one that outlives the default interval",
      at("{ timeout: ▸31s }"),
      "providers.x.probe.timeout",
      "`timeout` is longer than `every`",
    ],
    ["no time at all", at("{ timeout: ▸0s }"), "providers.x.probe.timeout", "must be more than 0"],
    ["a probe that writes nothing", at("{ max_output: ▸0 }"), "providers.x.probe.max_output", "must be at least 1"],
    ["one that writes a book", at("{ max_output: ▸65 }"), "providers.x.probe.max_output", "must be at most 64"],
    ["failures that never come", at("{ failures: ▸0 }"), "providers.x.probe.failures", "must be at least 1"],
    ["too many of them", at("{ failures: ▸11 }"), "providers.x.probe.failures", "must be at most 10"],
    ["a misspelt key", at("{ ▸evry: 30s }"), "providers.x.probe.evry", "did you mean `every`?"],
    ["a word", at("▸yes"), "providers.x.probe", "a map is wanted"],
  ]);
});

test.each([
  ["{ every: 30s }", { everyMs: 30_000, timeoutMs: 10_000, maxOutputTokens: 8, failures: 1 }],
  ["{}", { everyMs: 30_000, timeoutMs: 10_000, maxOutputTokens: 8, failures: 1 }],
  ["{ every: 2s }", { everyMs: 2_000, timeoutMs: 2_000, maxOutputTokens: 8, failures: 1 }],
  [
    "{ every: 5m, timeout: 2m, max_output: 1, failures: 3 }",
    { everyMs: 300_000, timeoutMs: 120_000, maxOutputTokens: 1, failures: 3 },
  ],
])("%s is read", async (text, probe) => {
  const loaded = await loadText(at(text));
  expect(lines(loaded)).toEqual([]);
  expect(loaded.snapshot?.providers.get("x")?.probe).toEqual(probe);
});

test("without it nothing is probed", async () => {
  const { snapshot } = await loadText(provider("x: { kind: simulator }"));
  expect(snapshot?.providers.get("x")).not.toHaveProperty("probe");
});

test("a probe that nothing would come of is doubted", async () => {
  const text = (chain: string): string => `providers:
  x: { kind: simulator, probe: { every: 1m } }
  y: { kind: simulator }
routes: { default: { chain: [${chain}] } }
tenants: { t: { models: { allow: ["*", "x/echo"] } } }
`;
  expect(lines(await loadText(text("y/echo")))).toEqual([
    expect.stringMatching(/^2:32 warning providers\.x\.probe: `probe` has nothing to probe/),
  ]);
  expect(lines(await loadText(text("y/echo, x/echo")))).toEqual([]);
});
