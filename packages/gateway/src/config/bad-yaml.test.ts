import { describe } from "vitest";
import { GOOD, routes, SIM, testRefused } from "./test/expect-refused.ts";

describe("files that are no config are refused at the place", () => {
  testRefused([
    ["a tab as indent", "providers:\n▸\tsim: {}\n", "", "a tab stands where YAML wants spaces"],
    ["two documents", `${GOOD}▸---\na: 1\n`, "", "a second document begins here"],
    ["a list", "▸- a\n- b\n", "", "is not a map"],
    ["a text", "▸hello\n", "", "is not a map"],
    ["a byte order mark", `▸\uFEFF${GOOD}`, "", "byte order mark"],
    ["not UTF-8", `${GOOD}# ▸\uFFFD\n`, "", "is not UTF-8"],
    ["an open bracket", "providers: { sim: { kind: simulator }\n▸", "", "a bracket above is not closed"],
    ["an open quote", 'routes: "abc\n▸', "", "missing closing"],
    ["a wrong indent", "providers:\n  a: 1\n▸ b: 2\n", "", "the indent is wrong"],
    ["a colon in a text", "gateway: { region: x }\nledger: ▸a: b\n", "", "a key cannot stand here"],
    ["a duplicate section", `${GOOD}▸routes: {}\n`, "routes", "duplicate key `routes`; it stands on line 2"],
    [
      "a duplicate key deep down",
      routes("default: { chain: [sim/echo], fallback: true, ▸fallback: false }"),
      "routes.default.fallback",
      "duplicate key `fallback`; it stands on line 3",
    ],
    ["a duplicate deployment", `${SIM}deployments:\n  a: {}\n  ▸a: {}\n`, "deployments.a", "it stands on line 3"],
    ["a key without a name", `${GOOD}? ▸\n: 1\n`, "", "a key must be a text"],
    ["a key that is a list", `${GOOD}▸[a, b]: 1\n`, "", "a key must be a text"],
    ["__proto__", `${GOOD}▸__proto__: { a: 1 }\n`, "", "`__proto__` cannot be used"],
    ["__proto__ as a name", "providers:\n  ▸__proto__: {}\n", "providers", "`__proto__` cannot be used"],
    ["constructor as a key", `${GOOD}▸constructor: 1\n`, "constructor", "unknown key `constructor`"],
    ["a merge key", `${GOOD}▸<<: { a: 1 }\n`, "", "merge keys"],
    ["an alias to nothing", "providers: ▸*x\n", "providers", "names no anchor `&x`"],
    ["an alias to itself", "providers: &x { a: ▸*x }\n", "providers.a.a", "holds itself"],
    ["a tag", "providers: ▸!secret x\n", "", "tags have no meaning"],
    ["YAML 1.1", `▸%YAML 1.1\n---\n${GOOD}`, "", "only YAML 1.2"],
    ["brackets without an end", `▸providers: ${"[".repeat(100_000)}\n`, "", "nested deeper than 64"],
    ["dashes without an end", `▸${"- ".repeat(50_000)}\n`, "", "nested deeper than 64"],
    ["a bomb of aliases", `▸${bomb()}`, "", "holds over 100000 values"],
    ["a section without a value", `${GOOD}▸gateway:\n`, "gateway", "`gateway` has no value"],
    ["null", `${GOOD}gateway: { ▸region: null }\n`, "gateway.region", "`region` has no value"],
    ["null in a list", routes("default: { chain: [sim/echo, ▸~] }"), "routes.default.chain[1]", "has no value"],
    ["nothing at all", "▸", "providers", "`providers` is missing"],
    ["only a comment", "▸# nothing yet\n", "routes", "`routes` is missing"],
    ["an empty map of tenants", `${GOOD}▸tenants: {}\n`, "tenants", "`tenants` is empty"],
  ]);
});

/** Ten aliases to the line above on each line: a million values from seven lines. */
function bomb(): string {
  const levels = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (const [name, below] of ["ba", "cb", "dc", "ed", "fe", "gf"]) {
    levels.push(`${name}: &${name} [${Array(10).fill(`*${below}`).join(", ")}]`);
  }
  return `${levels.join("\n")}\n`;
}
