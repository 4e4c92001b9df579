import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KEYS, startControl, type TestControl } from "../admin/fixtures/control.ts";
import { anAttempt, aRow, aSettlement } from "../ledger/fixtures/rows.ts";
import { LedgerStore } from "../ledger/store.ts";
import { type CliResult, newFolder, runCli } from "./fixtures/run-cli.ts";

const dir = newFolder();
let control: TestControl;

const usage = { ...aRow("x").usage, input_tokens: 1_200, cached_input_tokens: 1_000, output_tokens: 300 };
const ROWS: [ReturnType<typeof aRow>, ReturnType<typeof anAttempt>[]][] = [
  [
    aRow("req_1", {
      ...{ started_at: "2026-11-15T10:00:00.000Z", user: "ann", usage, cost_micro_usd: 2_345_678, latency_ms: 5_300 },
      ...{ deployment: "backup", fallback_depth: 1, tags: { tier: "gold" }, stream: true },
    }),
    [
      anAttempt(1, {
        deployment: "main",
        status: "failed",
        error_class: "timeout",
        http_status: null,
        latency_ms: 4_000,
      }),
      anAttempt(2, { deployment: "backup", usage, cost_micro_usd: 2_345_678, latency_ms: 1_200 }),
    ],
  ],
  [
    aRow("req_2", {
      ...{
        started_at: "2026-11-15T11:00:00.000Z",
        tenant: "other",
        status: "refused",
        error_code: "model_not_allowed",
      },
      ...{ deployment: null, provider: null, model: null, user: "\u001b[31mred\u0007" },
    }),
    [],
  ],
  [
    aRow("req_3", { started_at: "2026-10-01T00:00:00.000Z", cost_state: "unknown" }),
    [anAttempt(1, { cost_state: "unknown" })],
  ],
];

beforeAll(async () => {
  mkdirSync(join(dir, "data"));
  const store = new LedgerStore(join(dir, "data", "ledger.sqlite"), false);
  store.apply({ instance: "gw", running: [], settled: ROWS.map(([row, attempts]) => aSettlement(row, attempts)) });
  store.close();
  control = await startControl();
  for (const [row, attempts] of ROWS) control.add(row, attempts);
});
afterAll(() => control.close());

/** The same command on the data dir and on a running gateway: both must say the same. */
async function both(line: string, columns?: number): Promise<CliResult> {
  const surroundings = { dir, variables: { SLUICEGATE_ADMIN_KEY: KEYS.admin }, ...(columns && { columns }) };
  const local = await runCli(line, surroundings);
  const remote = await runCli(`${line} --url ${control.url}/`, surroundings);
  // A refusal is each side's own words.
  expect(local.code === 2 ? remote.code : remote).toEqual(local.code === 2 ? 2 : local);
  return local;
}

describe("sluicegate spend", () => {
  it("is a table of this month with a total", async () => {
    const { code, out } = await both("spend");
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      "2026-11-01 to 2026-12-01, UTC",
      "",
      "TENANT  MODEL     REQUESTS  INPUT  CACHED  OUTPUT        USD",
      "acme    sim/echo         1  1,200   1,000     300  $2.345678",
      "other   -                1      0       0       0  $0.000000",
      "------  --------  --------  -----  ------  ------  ---------",
      "TOTAL                    2  1,200   1,000     300  $2.345678",
      "",
    ]);
  });

  it("answers for one tenant, one model, one day in one call, as JSON", async () => {
    const { out } = await both("spend --by model --tenant acme --from 2026-11-15 --to 2026-11-16 --json");
    expect(JSON.parse(out)).toMatchObject({
      data: [{ model: "sim/echo", cost_micro_usd: 2_345_678 }],
      total: { requests: 1 },
    });
  });

  it("tells of costs that are not known", async () => {
    expect((await both("spend --from 2026-10-01 --to 2026-11-01")).out).toContain(
      "1 of these requests have no known price",
    );
  });

  it.each(["--by colour", "--from yesterday", "--by tenant,tag:", "--from 2026-11-02 --to 2026-11-01"])(
    "ends with 2 for %s",
    async (flags) => {
      const { code, out, err } = await both(`spend ${flags}`);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toMatch(/^error: /);
    },
  );
});

describe("sluicegate requests", () => {
  it("is a table, newest first, whole where there is no terminal", async () => {
    const { code, out } = await both("requests");
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^STARTED \(UTC\) +REQUEST +TENANT +ALIAS +DEPLOYMENT +STATUS +IN +OUT +LATENCY +USD$/);
    expect(lines[1]).toMatch(/^2026-11-15 11:00:00 {2}req_2 +other +default +- +refused model_not_allowed /);
    expect(lines[2]).toMatch(
      /^2026-11-15 10:00:00 {2}req_1 +acme +default +backup \+1 +ok +1,200 +300 +5\.30 s +\$2\.345678$/,
    );
    expect(lines[3]).toMatch(/req_3 .* unknown$/);
  });

  it("fits a terminal, and is coloured only there", async () => {
    const { out } = await both("requests", 64);
    const lines = out.trimEnd().split("\n");
    expect(out).toContain("\u001b[32mok\u001b[0m");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the colours.
    for (const line of lines) expect(line.replace(/\u001b\[\d+m/g, "").length).toBeLessThanOrEqual(64);
    expect(out).toContain("…");
    expect((await both("requests")).out).not.toContain("\u001b");
  });

  it("filters, and goes on where the page before ended", async () => {
    expect((await both("requests --status refused")).out).toMatch(/req_2/);
    expect((await both("requests --tenant nobody")).out).toBe("no requests\n");
    const { err } = await both("requests --limit 1");
    const cursor = /more: --cursor (\S+)/.exec(err)?.[1];
    const next = JSON.parse((await both(`requests --limit 1 --cursor ${cursor} --json`)).out);
    expect(next.data.map((row: { request_id: string }) => row.request_id)).toEqual(["req_1"]);
  });

  it("shows one with its attempts as a waterfall", async () => {
    const { code, out } = await both("requests req_1");
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toBe("req_1  ok  default → backup  5.30 s  $2.345678");
    expect(lines[2]).toBe("  tenant acme · user ann · key ci · tags tier=gold");
    expect(lines[3]).toContain("1,200 tokens in (1,000 cached), 300 out");
    expect(lines[6]).toMatch(/^ {2}1 {2}█{18}·{6} +4\.00 s {2}main +sim\/echo {2}timeout /);
    expect(lines[7]).toMatch(/^ {2}2 {2}·{18}█{5}· +1\.20 s {2}backup {2}sim\/echo {2}ok 200? *|ok +\$2\.345678$/);
    expect(JSON.parse((await both("requests req_1 --json")).out).attempts).toHaveLength(2);
  });

  it("lets nobody's words drive the terminal", async () => {
    const { out } = await both("requests req_2");
    expect(out).toContain("no provider was called");
    expect(out).toContain("user \ufffd[31mred\ufffd");
    expect(out).not.toContain("\u001b");
  });

  it("ends with 1 for one that is not there, and with 2 for what makes no sense", async () => {
    expect(await both("requests req_none")).toMatchObject({ code: 1, out: "" });
    for (const flags of ["req_1 --tenant acme", "--limit 0", "--limit 2000", "--status fine", "--cursor x"]) {
      expect([flags, (await both(`requests ${flags}`)).code]).toEqual([flags, 2]);
    }
  });
});

describe("--url", () => {
  it("needs an admin key, a URL, and nothing local beside it", async () => {
    const variables = { SLUICEGATE_ADMIN_KEY: KEYS.admin };
    expect((await runCli(`spend --url ${control.url}`, { dir })).err).toContain("SLUICEGATE_ADMIN_KEY");
    for (const line of [
      "spend --url localhost:1",
      `spend --url ${control.url} --data-dir x`,
      "spend --url http://a:b@c",
    ]) {
      expect([line, (await runCli(line, { dir, variables })).code]).toEqual([line, 2]);
    }
  });

  it("says what a gateway answers that refuses, and that none is there", async () => {
    const wrong = await runCli(`spend --url ${control.url}`, {
      dir,
      variables: { SLUICEGATE_ADMIN_KEY: "wrong-key-0123456" },
    });
    expect(wrong.code).toBe(1);
    expect(wrong.err).toMatch(/answers 401: this is not an admin key .*SLUICEGATE_ADMIN_KEY/);
    expect(wrong.err).not.toContain("wrong-key");
    const none = await runCli("spend --url http://127.0.0.1:9", {
      dir,
      variables: { SLUICEGATE_ADMIN_KEY: KEYS.admin },
    });
    expect(none.code).toBe(1);
    expect(none.err).toMatch(/^error: no gateway answers at http:\/\/127\.0\.0\.1:9 /);
  });

  it("does not take another server for a gateway", async () => {
    const result = await runCli(`requests --url ${control.url}/elsewhere`, {
      dir,
      variables: { SLUICEGATE_ADMIN_KEY: KEYS.admin },
    });
    expect(result.code).toBe(1);
    expect(result.err).toContain("not the answer of a Sluicegate");
  });
});

it("tells that there is no ledger, and shows an empty one", async () => {
  const { code, out, err } = await runCli("requests", { dir: newFolder() });
  expect([code, out]).toEqual([0, "no requests\n"]);
  expect(err).toContain("data/ledger.sqlite does not exist");
});
