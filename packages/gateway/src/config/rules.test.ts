import { describe, expect, test } from "vitest";
import { SIM, testRefused } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

/** A config with these rules, over classes, tenants with teams, and deployments of every kind. */
const ruled = (rules: string, rest = ""): string => `${SIM}classifications: [public, internal, restricted]
deployments:
  open: { provider: sim, model: m }
  inner: { provider: sim, model: m2, max_classification: restricted }
  deep: { provider: sim, model: m3, max_classification: restricted, capabilities: [tools, vision] }
  plain: { provider: sim, model: m4, max_classification: restricted, capabilities: [tools] }
  own: { provider: sim, model: m5, tenants: [t] }
routes: { a: { chain: [open, inner, deep, plain, own] }, b: { chain: [sim/echo], tenant_overrides: { u: [sim/u] } } }
tenants:
  t: { models: "*", teams: { red: {}, blue: {} } }
  u: { models: { allow: [b] }, teams: { green: {} } }
  v: { models: { allow: [b] } }
  raw: { models: { allow: ["sim/*"] } }
rules:
  ${rules}
${rest}`;

const rule = (name: string, text: string): string => `- { name: ${name}, ${text} }`;
const two = (first: string, second: string): string => ruled(`${rule("one", first)}\n  ${second}`);

describe("rules", () => {
  test("are read, by priority and then as written", async () => {
    const { snapshot, problems } = await loadText(
      ruled(`- { name: late, priority: 9, when: {}, chain: [open] }
  - name: first
    when:
      classification: [restricted, internal]
      task_class: code
      tenant: [t]
      team: red
      application: bot
      agent: [x, y]
      alias: a
      tags: { tier: gold, area: [north, south] }
    unless: { tags: { tier: [lead, tin] }, team: blue }
    chain: [inner, sim/other]
    mode: shadow
  - { name: second, priority: 0, when: { agent: z }, chain: [open] }`),
    );
    expect(problems.map(({ message }) => message)).toEqual([]);
    expect(snapshot?.rules.map(({ name }) => name)).toEqual(["first", "second", "late"]);
    expect(snapshot?.rules[0]).toEqual({
      name: "first",
      priority: 0,
      when: {
        ...{ classification: ["restricted", "internal"], task_class: ["code"], tenant: ["t"], team: ["red"] },
        ...{
          application: ["bot"],
          agent: ["x", "y"],
          alias: ["a"],
          tags: { tier: ["gold"], area: ["north", "south"] },
        },
      },
      unless: { tags: { tier: ["lead", "tin"] }, team: ["blue"] },
      chain: ["inner", "sim/other"],
      mode: "shadow",
    });
    expect(snapshot?.rules[1]).toMatchObject({ when: { agent: ["z"] }, unless: null, mode: "enforce" });
  });

  testRefused([
    ["no chain", ruled("▸- { name: x, when: {} }").replace("▸- {", "- ▸{"), "rules[0]", "`chain` is missing"],
    ["an empty chain", ruled("- { name: x, when: {}, chain: ▸[] }"), "rules[0].chain", "is empty"],
    [
      "an unknown deployment",
      ruled("- { name: x, when: {}, chain: [▸inter] }"),
      "rules[0].chain[0]",
      "did you mean `inner`?",
    ],
    ["an alias", ruled("- { name: x, when: {}, chain: [▸a] }"), "rules[0].chain[0]", "`a` is an alias"],
    [
      "a name twice",
      two("when: { tenant: t }, chain: [open]", rule("▸one", "when: { tenant: u }, chain: [open]")),
      "rules[1].name",
      "a second rule `one`",
    ],
    [
      "a name of rows",
      ruled("- { name: ▸chain, when: {}, chain: [open] }"),
      "rules[0].name",
      "what rows say where no rule decided",
    ],
    ["an odd name", ruled("- { name: ▸a b, when: {}, chain: [open] }"), "rules[0].name", "cannot be a name"],
    [
      "an unknown class",
      ruled("- { name: x, when: { classification: [▸restrict] }, chain: [inner] }"),
      "rules[0].when.classification[0]",
      "did you mean `restricted`?",
    ],
    [
      "an unknown class, alone",
      ruled("- { name: x, when: { classification: ▸zzz }, chain: [inner] }"),
      "rules[0].when.classification",
      "known are `public`, `internal`, `restricted`",
    ],
    [
      "an unknown tenant",
      ruled("- { name: x, when: { tenant: [t, ▸tt] }, chain: [open] }"),
      "rules[0].when.tenant[1]",
      "did you mean `t`?",
    ],
    [
      "an unknown team",
      ruled("- { name: x, when: { team: ▸bleu }, chain: [open] }"),
      "rules[0].when.team",
      "did you mean `blue`?",
    ],
    [
      "another tenant's team",
      ruled("- { name: x, when: { tenant: u, team: ▸blue }, chain: [open] }"),
      "rules[0].when.team",
      "unknown team `blue`; known are `green`",
    ],
    [
      "an unknown alias",
      ruled("- { name: x, when: { alias: ▸c }, chain: [open] }"),
      "rules[0].when.alias",
      "unknown alias `c`",
    ],
    [
      "an unknown task class",
      ruled("- { name: x, when: { task_class: ▸cde }, chain: [open] }", "task_classes: [code, chat]\n"),
      "rules[0].when.task_class",
      "did you mean `code`?",
    ],
    [
      "unknown in unless",
      ruled("- { name: x, when: {}, unless: { tenant: ▸nobody }, chain: [open] }"),
      "rules[0].unless.tenant",
      "unknown tenant `nobody`",
    ],
    [
      "an unknown field",
      ruled("- { name: x, when: { ▸tennant: t }, chain: [open] }"),
      "rules[0].when.tennant",
      "did you mean `tenant`?",
    ],
    [
      "no value",
      ruled("- { name: x, when: { agent: ▸[] }, chain: [open] }"),
      "rules[0].when.agent",
      "nothing could match",
    ],
    [
      "unless everything",
      ruled("- { name: x, when: {}, unless: ▸{}, chain: [open] }"),
      "rules[0].unless",
      "an empty `unless` takes out everything",
    ],
    [
      "unless all of it",
      ruled("- { name: x, when: { tenant: [t], agent: q }, unless: ▸{ tenant: [t, u] }, chain: [open] }"),
      "rules[0].unless",
      "the rule matches nothing",
    ],
    [
      "a mode",
      ruled("- { name: x, when: {}, chain: [open], mode: ▸shado }"),
      "rules[0].mode",
      "did you mean `shadow`?",
    ],
    [
      "a class where there are none",
      `${SIM}routes: { a: { chain: [sim/a] } }\nrules: [{ name: x, when: { classification: ▸secret }, chain: [sim/a] }]\n`,
      "rules[0].when.classification",
      "`classifications` declares no classes",
    ],
    [
      "a team where there are none",
      `${SIM}routes: { a: { chain: [sim/a] } }\nrules: [{ name: x, when: { team: ▸red }, chain: [sim/a] }]\n`,
      "rules[0].when.team",
      "unknown team `red`; none is declared",
    ],
  ]);
});

describe("a rule that nothing can follow", () => {
  testRefused([
    [
      "its chain may not hold what it matches",
      ruled("- { name: x, when: { classification: [internal, restricted] }, chain: ▸[open] }"),
      "rules[0].chain",
      "`open` may hold no more than `public`, not `internal`",
    ],
    [
      "its chain is another tenant's",
      ruled("- { name: x, when: { tenant: v }, chain: ▸[own] }"),
      "rules[0].chain",
      "`own` is kept for `t`",
    ],
    [
      "its tenant may not ask for the alias",
      ruled("- { name: x, when: ▸{ tenant: u, alias: a }, chain: [open] }"),
      "rules[0].when",
      "`u` may not ask for `a`",
    ],
    [
      "its tenant may ask for raw names alone",
      ruled("- { name: x, when: ▸{ tenant: raw }, chain: [open] }"),
      "rules[0].when",
      "`raw` may not ask for any alias",
    ],
    [
      "its tenant has an override there",
      ruled("- { name: x, when: ▸{ tenant: u, alias: b }, chain: [open] }"),
      "rules[0].when",
      "unless a `tenant_overrides` chain of its own comes first",
    ],
    [
      "an earlier one is the same",
      two("when: { tenant: t }, chain: [open]", "- ▸{ name: two, when: { tenant: t }, chain: [open] }"),
      "rules[1]",
      "`two` is never reached: rule `one` (line 16) comes first",
    ],
    [
      "an earlier one is wider, with the same chain and more",
      two("when: {}, chain: [inner, open]", "- ▸{ name: two, when: { agent: x }, chain: [open] }"),
      "rules[1]",
      "never reached",
    ],
    [
      "an earlier one can serve all that it can",
      two("when: {}, chain: [deep]", "- ▸{ name: two, when: { agent: x }, chain: [plain] }"),
      "rules[1]",
      "never reached",
    ],
    [
      "an earlier one names every class",
      two(
        "when: { classification: [public, restricted, internal] }, chain: [inner]",
        "- ▸{ name: two, when: { agent: x }, chain: [inner] }",
      ),
      "rules[1]",
      "never reached",
    ],
    [
      "a lower number comes first, wherever it stands",
      two("priority: 5, when: ▸{ agent: x }, chain: [inner]", rule("two", "priority: 4, when: {}, chain: [inner]"))
        .replace("when: ▸", "when: ")
        .replace("- { name: one", "- ▸{ name: one"),
      "rules[0]",
      "rule `two` (line 17) comes first",
    ],
    [
      "both make the same exception",
      two(
        "when: {}, unless: { tags: { a: x } }, chain: [inner]",
        "- ▸{ name: two, when: {}, unless: { tags: { a: [x, y] } }, chain: [inner] }",
      ),
      "rules[1]",
      "never reached",
    ],
  ]);

  test.each([
    ["another value", "when: { agent: x }, chain: [inner]", "when: { agent: y }, chain: [inner]"],
    ["more values", "when: { agent: x }, chain: [inner]", "when: { agent: [x, y] }, chain: [inner]"],
    ["another field", "when: { agent: x }, chain: [inner]", "when: { application: x }, chain: [inner]"],
    ["a narrower one first", "when: { agent: x, alias: a }, chain: [inner]", "when: { agent: x }, chain: [inner]"],
    [
      "an exception of the first",
      "when: {}, unless: { agent: x }, chain: [inner]",
      "when: { agent: x }, chain: [inner]",
    ],
    [
      "a tag that is one of several",
      "when: { tags: { a: x } }, chain: [inner]",
      "when: { tags: { b: x } }, chain: [inner]",
    ],
    ["a first that only watches", "when: {}, chain: [inner], mode: shadow", "when: {}, chain: [inner]"],
    [
      "a first that may not hold it all",
      "when: {}, chain: [open]",
      "when: { classification: restricted }, chain: [inner]",
    ],
    ["a first that is kept for another", "when: {}, chain: [own]", "when: { agent: x }, chain: [open]"],
  ])("is none with %s", async (_, first, second) => {
    expect(lines(await loadText(two(first, rule("two", second))))).toEqual([]);
  });

  test.each([
    ["can do less", "when: {}, chain: [plain]", "when: { agent: x }, chain: [deep]"],
    ["may do other things", "when: {}, chain: [deep]", "when: { agent: x }, chain: [inner]"],
  ])("is doubted where the earlier one %s", async (_, first, second) => {
    const loaded = await loadText(two(first, rule("two", second)));
    expect(loaded.snapshot).not.toBeNull();
    expect(lines(loaded)).toEqual([
      "17:5 warning rules[1]: `two` is reached only by requests that nothing of the chain of rule `one` (line 16) can serve: that one comes first and matches all that it matches",
    ]);
  });

  test("counts regions: a deployment elsewhere does not stand in", async () => {
    const text = (first: string, second: string) => `${SIM}regions: { eu: [eu-west, eu-north] }
deployments: { w: { provider: sim, model: m, region: eu-west }, n: { provider: sim, model: n, region: eu-north }, z: { provider: sim, model: z } }
routes: { a: { chain: [w, n, z] } }
rules: [{ name: one, when: {}, chain: [${first}] }, { name: two, when: {}, chain: [${second}] }]
`;
    const said = async (first: string, second: string) => (await loadText(text(first, second))).problems[0]?.severity;
    expect(await said("w", "z")).toBe("error");
    expect(await said("z", "w")).toBe("warning");
    expect(await said("w", "n")).toBe("warning");
    expect(await said("w, n", "n")).toBe("error");
  });

  test("is told of and no more where a secret is missing, and goes with the last of its chain", async () => {
    const text = `providers: { sim: { kind: simulator }, gone: { kind: openai, api_key: env:MISSING } }
routes: { a: { chain: [sim/a] } }
rules:
  - { name: one, when: {}, chain: [gone/gpt-4o-2024-11-20] }
  - { name: two, when: {}, chain: [sim/a] }
  - { name: three, when: {}, chain: [sim/a] }
`;
    const { snapshot, problems } = await loadText(text, { allowMissingSecrets: true });
    expect(snapshot?.rules.map(({ name }) => name)).toEqual(["two", "three"]);
    expect(problems.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
      "warning providers.gone",
      "warning rules[0]",
      "warning rules[0].chain[0]",
      "warning rules[2]",
    ]);
  });
});
