import { describe, expect, it } from "vitest";
import { newFolder, runCli } from "./fixtures/run-cli.ts";

const GOOD = `providers:
  sim: { kind: simulator }
routes:
  default: { chain: [sim/echo] }
`;

describe("sluicegate check", () => {
  it("says that a good config can be served", async () => {
    const dir = newFolder({ "sluicegate.yaml": GOOD });
    for (const line of ["check", "check sluicegate.yaml"]) {
      const { code, out, err } = await runCli(line, { dir });
      expect([code, err]).toEqual([0, ""]);
      expect(out).toMatch(
        /^sluicegate\.yaml: ok, revision [0-9a-f]{12} \(1 alias, 1 deployment, 1 provider, 1 tenant\)\n$/,
      );
    }
  });

  it("ends with 1 for one that cannot, with the line and the nearest name", async () => {
    const dir = newFolder({ "gw.yaml": GOOD.replace("routes:", "ruotes:") });
    const { code, out } = await runCli("check gw.yaml", { dir });
    expect(code).toBe(1);
    expect(out).toContain("gw.yaml:3:1 error ruotes: unknown key");
    expect(out).toContain("did you mean `routes`?");
    expect(out).toContain("    3 | ruotes:");
    expect(out).toContain("gw.yaml: cannot be served");
  });

  it("does the same as JSON", async () => {
    const dir = newFolder({ "gw.yaml": GOOD.replace("routes:", "ruotes:"), "ok.yaml": GOOD });
    const bad = await runCli("check gw.yaml --json", { dir });
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.out)).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([expect.objectContaining({ severity: "error", line: 3, path: "ruotes" })]),
    });
    expect(JSON.parse((await runCli("check ok.yaml --json", { dir })).out)).toEqual({ ok: true, problems: [] });
  });

  it("shows warnings and still ends with 0", async () => {
    const literal = GOOD.replace("sim: { kind: simulator }", "a: { kind: openai, api_key: sk-live-0123456789 }");
    const dir = newFolder({ "sluicegate.yaml": literal.replace("sim/echo", "a/gpt-4o-2024-11-20") });
    const { code, out } = await runCli("check", { dir });
    expect(code).toBe(0);
    expect(out).toContain("warning providers.a.api_key");
    expect(out).not.toContain("sk-live");
  });

  it("misses secrets, unless it is told that they are elsewhere", async () => {
    const text = `${GOOD.replace("chain: [sim/echo]", "chain: [sim/echo, a/gpt-4o-2024-11-20]")}`.replace(
      "routes:",
      "  a: { kind: openai, api_key: env:NOT_SET_HERE }\nroutes:",
    );
    const dir = newFolder({ "sluicegate.yaml": text });
    const refused = await runCli("check", { dir });
    expect([refused.code, refused.out.includes("NOT_SET_HERE")]).toEqual([1, true]);
    expect((await runCli("check --allow-missing-secrets", { dir })).code).toBe(0);
    expect((await runCli("check", { dir, variables: { NOT_SET_HERE: "sk-x-0123456789abcdef" } })).code).toBe(0);
  });

  it("lays an overlay over it", async () => {
    const dir = newFolder({
      "sluicegate.yaml": GOOD,
      "sluicegate.prod.yaml": "routes: { fast: { chain: [sim/echo] } }\n",
    });
    expect((await runCli("check --env prod", { dir })).out).toContain("sluicegate.yaml + sluicegate.prod.yaml: ok");
    expect((await runCli("check --env prud", { dir })).code).toBe(1);
  });

  it("ends with 1 for a file that is not there", async () => {
    expect((await runCli("check none.yaml", { dir: newFolder() })).code).toBe(1);
  });
});
