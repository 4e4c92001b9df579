import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../core/clock.ts";
import { openKeys } from "../ledger/keys.ts";
import { NOW, newFolder, runCli } from "./fixtures/run-cli.ts";

const CONFIG = `providers: { sim: { kind: simulator } }
routes: { default: { chain: [sim/echo] }, fast: { chain: [sim/echo] } }
tenants:
  acme: { models: "*", teams: { payments: {} } }
  other: { models: "*" }
keys: [{ id: ci, hash: "sha256:${"a".repeat(64)}", tenant: acme }]
`;
const HOUR = 3_600_000;

function stored(dir: string) {
  const keys = openKeys({ path: join(dir, "data", "ledger.sqlite"), clock: systemClock });
  const list = keys.list();
  keys.close();
  return list;
}

async function create(dir: string, flags = ""): Promise<{ id: string; key: string }> {
  return JSON.parse((await runCli(`keys create --json ${flags}`, { dir })).out);
}

describe("sluicegate keys create", () => {
  it("shows the key once, alone on stdout, and keeps its hash only", async () => {
    const dir = newFolder();
    const { code, out, err } = await runCli(["keys", "create", "--name", "checkout bot"], { dir });
    expect(code).toBe(0);
    expect(out).toMatch(/^sg_[0-9a-z]{12}_[0-9A-Za-z]{43}\n$/);
    const key = out.trim();
    expect(err).toContain("not shown again");
    expect(err).not.toContain(key);
    const id = key.split("_")[1];
    expect(stored(dir)).toMatchObject([
      { id, hash: hash("sha256", key), tenant: "default", name: "checkout bot", models: null, expiresAt: null },
    ]);
    expect(readFileSync(join(dir, "data", "ledger.sqlite")).includes(key)).toBe(false);
  });

  it("takes whose it is, what it may use and how long", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const flags = "--tenant acme --team payments --models default,fast --deny fast --expires 2027-01-01";
    expect(await create(dir, flags)).toMatchObject({
      tenant: "acme",
      team: "payments",
      application: null,
      models: { allow: ["default", "fast"], deny: ["fast"] },
      expires_at: "2027-01-01T00:00:00.000Z",
    });
    expect(stored(dir)).toMatchObject([{ team: "payments", expiresAt: Date.parse("2027-01-01") }]);
  });

  it.each([
    ["--tenant acmee", "did you mean `acme`?"],
    ["", "--tenant is missing"],
    ["--tenant acme --team payment", "did you mean `payments`?"],
    ["--tenant acme --expires 2020-01-01", "in the past"],
    ["--tenant acme --expires soon", "2027-01-01"],
    ["--tenant acme --models ,", "name at least one"],
  ])("refuses `%s`, and makes nothing", async (flags, words) => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const { code, out, err } = await runCli(`keys create ${flags}`, { dir });
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(words);
    expect(existsSync(join(dir, "data"))).toBe(false);
  });

  it("follows the data dir and the ledger that flags, variables and the config name", async () => {
    const dir = newFolder({ "gw.yaml": `${CONFIG}ledger: { url: "sqlite:elsewhere/rows.db" }\n` });
    await runCli("keys create --data-dir here", { dir });
    expect(existsSync(join(dir, "here", "ledger.sqlite"))).toBe(true);
    await runCli("keys create", { dir, variables: { SLUICEGATE_DATA_DIR: "there" } });
    expect(existsSync(join(dir, "there", "ledger.sqlite"))).toBe(true);
    await runCli("keys create --tenant acme --config gw.yaml --data-dir unused", { dir });
    expect(existsSync(join(dir, "elsewhere", "rows.db"))).toBe(true);
    expect(existsSync(join(dir, "unused"))).toBe(false);
  });

  it("works beside a broken config, and says so", async () => {
    const dir = newFolder({ "sluicegate.yaml": "providers: [" });
    const { code, err } = await runCli("keys create --tenant acme", { dir });
    expect(code).toBe(0);
    expect(err).toContain("sluicegate.yaml has errors");
  });
});

describe("sluicegate keys list", () => {
  it("lists the config's keys and those that were made, without any secret", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const { id, key } = await create(dir, "--tenant other --models fast");
    const { code, out } = await runCli("keys list", { dir });
    expect(code).toBe(0);
    expect(out).toMatch(/^ci +acme .*in the config/m);
    expect(out).toMatch(new RegExp(`^${id} +other .* fast .* live$`, "m"));
    const json = (await runCli("keys list --json --tenant other", { dir })).out;
    expect(JSON.parse(json).data).toMatchObject([{ id, source: "created", state: "live", revoked_at: null }]);
    for (const text of [out, json]) expect(text).not.toMatch(new RegExp(`${key}|${hash("sha256", key)}|aaaa`));
  });

  it("makes no database where there is none", async () => {
    const dir = newFolder();
    expect((await runCli("keys list", { dir })).out).toBe("no keys\n");
    expect(existsSync(join(dir, "data"))).toBe(false);
  });
});

describe("sluicegate keys rotate", () => {
  it("makes a like key, and lets the old one hold during the overlap", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const old = await create(dir, "--tenant acme --team payments --models fast --expires 2027-01-01");
    const { code, out } = await runCli(`keys rotate ${old.id} --json`, { dir });
    expect(code).toBe(0);
    const made = JSON.parse(out);
    expect(made).toMatchObject({ replaces: old.id, old_key_ends_at: "2026-11-16T12:00:00.000Z" });
    const [before, after] = [old.id, made.id].map((id) => stored(dir).find((key) => key.id === id));
    expect(before?.revokedAt).toBe(NOW + 24 * HOUR);
    expect(after).toMatchObject({ hash: hash("sha256", made.key), revokedAt: null, tenant: "acme", team: "payments" });
    expect(after?.models).toEqual(before?.models);
    expect(after?.expiresAt).toBe(before?.expiresAt);
    const listed = await runCli("keys list --json", { dir, now: NOW + 25 * HOUR });
    expect(JSON.parse(listed.out).data.map((key: { id: string }) => key.id)).toEqual(["ci", made.id]);
  });

  it("takes an overlap, none at all included", async () => {
    const dir = newFolder();
    const [a, b] = [await create(dir), await create(dir)];
    expect((await runCli(`keys rotate ${a.id} --overlap 90m`, { dir })).err).toContain("holds for 1h 30m more");
    expect((await runCli(`keys rotate ${b.id} --overlap 0`, { dir })).err).toContain("no longer holds");
    expect((await runCli(`keys rotate ${a.id} --overlap often`, { dir })).code).toBe(2);
  });

  it("does not put off an end that is set already", async () => {
    const dir = newFolder();
    const { id } = await create(dir);
    await runCli(`keys rotate ${id} --overlap 1h`, { dir });
    await runCli(`keys rotate ${id} --overlap 48h`, { dir });
    expect(stored(dir).find((key) => key.id === id)?.revokedAt).toBe(NOW + HOUR);
  });

  it("ends with 1 for a key that is gone, fixed or unknown", async () => {
    const dir = newFolder({ "sluicegate.yaml": CONFIG });
    const { id } = await create(dir, "--tenant acme");
    await runCli(`keys revoke ${id}`, { dir });
    expect(await runCli(`keys rotate ${id}`, { dir, now: Date.now() })).toMatchObject({ code: 1, out: "" });
    expect((await runCli("keys rotate ci", { dir })).err).toContain("change it there");
    expect((await runCli("keys rotate none", { dir })).err).toContain("there is no key none in data/ledger.sqlite");
  });
});

describe("sluicegate keys revoke", () => {
  it("ends a key, once", async () => {
    const dir = newFolder();
    const { id } = await create(dir);
    expect(await runCli(`keys revoke ${id}`, { dir })).toMatchObject({ code: 0, err: "" });
    expect((await runCli("keys list", { dir, now: NOW + 1 })).out).toBe("no keys\n");
    expect((await runCli("keys list --all", { dir, now: NOW + 1 })).out).toMatch(/ revoked$/m);
    expect(await runCli(`keys revoke ${id}`, { dir, now: NOW + 1 })).toMatchObject({ code: 1, out: "" });
  });

  it("makes no database for a key that cannot be there", async () => {
    const dir = newFolder();
    expect((await runCli("keys revoke x", { dir })).code).toBe(1);
    expect(existsSync(join(dir, "data"))).toBe(false);
  });
});
