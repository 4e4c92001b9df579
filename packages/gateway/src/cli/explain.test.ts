import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEYS, startControl, type TestControl } from "../admin/fixtures/control.ts";
import { anAttempt, aRow, aSettlement } from "../ledger/fixtures/rows.ts";
import { LedgerStore } from "../ledger/store.ts";
import { someFacts } from "../routing/fixtures/config.ts";
import { type CliResult, newFolder, runCli } from "./fixtures/run-cli.ts";

const CONFIG = `
gateway: { region: eu-west }
classifications: [public, restricted]
providers: { sim: { kind: simulator } }
deployments:
  big: { provider: sim, model: echo, region: eu-west, max_classification: restricted, price: { input: 1, output: 2 } }
  cheap: { provider: sim, model: echo?tag=cheap, region: us-east, price: { input: 0.5, output: 1 } }
routes:
  main: { chain: [cheap, big], strategy: cheapest }
rules:
  - { name: gold, priority: 1, when: { tags: { tier: [gold] } }, chain: [big] }
  - { name: tried, priority: 2, when: { agent: [bot] }, chain: [big], mode: shadow }
tenants: { acme: { models: { allow: "*" } }, other: { models: { allow: [] } } }
keys: [{ id: ci, hash: "sha256:${"ab".repeat(32)}", tenant: acme, models: { allow: "*", deny: ["deployment:cheap"] } }]
`;
/** The same with other routes. */
const OTHER = CONFIG.replace("chain: [cheap, big], strategy: cheapest", "chain: [big, cheap]");

const dir = newFolder({ "sluicegate.yaml": CONFIG, "new.yaml": OTHER });
let control: TestControl;

const usage = { ...aRow("x").usage, input_tokens: 1_000, output_tokens: 500 };
const row = (id: string, facts: Parameters<typeof someFacts>[0], changes: Parameters<typeof aRow>[1] = {}) =>
  aRow(id, {
    ...{ started_at: "2026-11-15T10:00:00.000Z", alias: "main", route: "main", deployment: "cheap", key_id: null },
    ...{ facts: { ...someFacts(facts) }, usage, cost_micro_usd: 1_000 },
    ...changes,
  });

beforeAll(async () => {
  mkdirSync(join(dir, "data"));
  const store = new LedgerStore(join(dir, "data", "ledger.sqlite"), false);
  const attempt = anAttempt(1, { deployment: "cheap", latency_ms: 80 });
  const rows = [
    aSettlement(row("req_1", {}), [attempt]),
    aSettlement(row("req_2", {}), [attempt]),
    aSettlement(row("req_gold", { tags: { tier: "gold" } }, { rule: "gold", deployment: "big" }), [
      { ...attempt, deployment: "big" },
    ]),
    aSettlement(row("req_no", { classification: "restricted", tenant: "gone" }, { route: null, rule: null }), []),
  ];
  store.apply({ instance: "gw", running: [], settled: rows });
  store.close();
  control = await startControl();
});
afterAll(() => control.close());

const run = (line: string | string[], key?: string, columns?: number): Promise<CliResult> =>
  runCli(line, {
    dir,
    variables: key === undefined ? {} : { SLUICEGATE_ADMIN_KEY: key },
    ...(columns !== undefined && { columns }),
  });

describe("sluicegate explain", () => {
  it("says what decides, and why each deployment stands where it stands", async () => {
    expect(await run("explain main --tenant acme")).toEqual({
      code: 0,
      err: "",
      out: `acme asks for main: by the route's own chain, cheapest
class public

TRY  DEPLOYMENT  GATE  WHY                  SCORE
  1  cheap       -     by its price, USD  0.00055
  2  big         -     by its price, USD   0.0011
`,
    });
  });

  it("says which gate took what, and which rules had a say", async () => {
    const { out, code } = await run("explain main --tenant acme --classification restricted --agent bot");
    expect(code).toBe(0);
    expect(out).toBe(`acme asks for main: by the route's own chain, cheapest
class restricted
rule tried, in shadow, would take big

TRY  DEPLOYMENT  GATE            WHY
  1  big         -               the only one left
 no  cheap       classification  may hold public at most, and this is restricted
`);
  });

  it.each([
    ["explain main --tenant acme --tag tier=gold", 0, "by rule gold, cheapest"],
    ["explain main --key ci", 0, "no  cheap       permission"],
    ["explain deployment:big --tenant acme", 1, "refused: model_not_allowed"],
    ["explain main --tenant other", 1, "refused: model_not_allowed"],
    ["explain mian --tenant acme", 1, 'did you mean "main"'],
    ["explain main --tenant acme --residency us-east", 1, "refused: residency_violation"],
    ["explain main --tenant acme --input-tokens 200000 --max-output-tokens 5", 0, "acme asks for main"],
  ])("%s", async (line, code, words) => {
    const result = await run(line);
    expect(result.out).toContain(words);
    expect(result.code).toBe(code);
  });

  it("explains a request by its row", async () => {
    expect((await run("explain --request req_gold")).out).toContain("by rule gold");
    const gone = await run("explain --request req_no");
    expect(gone).toMatchObject({ code: 1 });
    expect(gone.out).toContain('refused: invalid_api_key: tenant "gone" is not configured');
    expect((await run("explain --request req_1")).out).toContain("the config has changed since: it was r1");
  });

  it("says it as JSON", async () => {
    const found = JSON.parse((await run("explain main --tenant acme --stream --tools 2 --session s1 --json")).out);
    expect(found).toMatchObject({
      chain: ["cheap", "big"],
      facts: { stream: true, tools: 2, needs: ["tools"], session: "s1" },
    });
  });

  it("asks a running gateway, under its own config", async () => {
    const { out, code } = await run(`explain fast --tenant acme --url ${control.url}`, KEYS.admin);
    expect(out).toContain("no  backup      capability");
    expect(code).toBe(1);
  });

  it.each([
    ["explain", "name an alias"],
    ["explain main", "name who asks"],
    ["explain main --tenant acme --tag gold", "name=value"],
    ["explain main --tenant acme --draw 2", "0 to below 1"],
    ["explain main --tenant acme --priority urgent", "priority must be"],
    ["explain main --request req_1", "an alias has no meaning"],
    ["explain --request req_1 --tenant acme", "tenant has no meaning"],
    ["explain main --key nobody", "there is no key nobody"],
    ["explain main --tenant acme --url http://127.0.0.1:1 --config x.yaml", "have no meaning"],
    ["explain main --tenant acme --url http://127.0.0.1:1", "SLUICEGATE_ADMIN_KEY"],
  ])("%s: usage", async (line, words) => {
    const { code, err } = await run(line);
    expect(err).toContain(words);
    expect(code).toBe(2);
  });

  it("tells what is wrong with a config", async () => {
    writeFileSync(
      join(dir, "bad.yaml"),
      "providers: { sim: { kind: simulator } }\nroutes: { main: { chain: [nobody] } }\n",
    );
    const { code, err } = await run("explain main --config bad.yaml");
    expect(code).toBe(1);
    expect(err).toContain("bad.yaml:2");
  });
});

describe("sluicegate what-if", () => {
  it("says what would change, and is a finding", async () => {
    const { code, out, err } = await run("what-if new.yaml --since 7d");
    expect(err).toBe("");
    expect(code).toBe(1);
    expect(out).toMatch(
      /^3 requests, 2026-11-08T12:00 to 2026-11-15T12:00 UTC, under config \w+: 2 would change \(67 %\)$/m,
    );
    expect(out).toContain("1 say too little and are left out");
    expect(out).toMatch(/^refused {3}0 → 0$/m);
    expect(out).toMatch(/^latency {3}80 ms → 80 ms$/m);
    const [, table = ""] = out.split("\n\n");
    expect(table).toMatch(/^REQUESTS +ALIAS +BEFORE +AFTER +COST BEFORE +COST AFTER +EXAMPLE\n/);
    expect(table).toMatch(/^ +2 +main +cheap +big +\$0\.002000 +\$0\.004000 +req_[12]$/m);
  });

  it("says that nothing would", async () => {
    const { code, out } = await run("what-if sluicegate.yaml");
    expect(out).toContain("0 would change");
    expect(code).toBe(0);
  });

  it("says it as JSON, of one tenant and a time", async () => {
    const report = JSON.parse((await run("what-if new.yaml --json")).out);
    expect(report).toMatchObject({ changed: 2, cost: { before_micro_usd: 3_000, after_micro_usd: 6_000 } });
    expect(JSON.parse((await run("what-if new.yaml --tenant nobody --json")).out)).toMatchObject({ requests: 0 });
    expect(JSON.parse((await run("what-if new.yaml --to 2026-11-15 --json")).out)).toMatchObject({ requests: 0 });
  });

  it.each([
    ["what-if", "missing required argument"],
    ["what-if new.yaml --since soon", "since must be"],
    ["what-if new.yaml --since 1d --from 2026-11-01", "since has no meaning"],
    ["what-if new.yaml --url http://127.0.0.1:1", "SLUICEGATE_ADMIN_KEY"],
    ["what-if new.yaml --url http://127.0.0.1:1 --data-dir x", "have no meaning"],
  ])("%s: usage", async (line, words) => {
    const { code, err } = await run(line);
    expect(err).toContain(words);
    expect(code).toBe(2);
  });
});
