import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../test/support/until.ts";
import { startVault, type VaultServer } from "../../test/support/vault-server.ts";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { openSecrets } from "../open-secrets.ts";
import type { SecretKeeper } from "../secrets/secret-keeper.ts";
import { environmentOf } from "./env.ts";
import { lines, loadText } from "./test/load-text.ts";

let vault: VaultServer;
let secrets: SecretKeeper;

beforeAll(async () => {
  vault = await startVault();
  const variables = new Map(Object.entries({ VAULT_ADDR: vault.url, VAULT_TOKEN: "root" }));
  secrets = openSecrets({ environment: environmentOf(variables), clock: systemClock, random: systemRandom() });
  vault.secrets.set("llm", { openai: "sk-from-vault" });
});
afterAll(async () => {
  secrets.close();
  await vault.stop();
});

const config = (reference: string, more = ""): string =>
  [
    "providers:",
    `  up: { kind: openai, api_key: "${reference}" }`,
    "  sim: { kind: simulator }",
    more,
    "routes: { default: { chain: [up/gpt-4o-2024-11-20, sim/echo] } }",
  ].join("\n");

describe("a reference to a secret manager", () => {
  it("is put in its place, and says where it came from", async () => {
    const loaded = await loadText(config("vault:secret/data/llm#openai"), { secrets });
    expect(lines(loaded)).toEqual([]);
    const key = loaded.snapshot?.providers.get("up")?.apiKey;
    expect([key?.reveal(), key?.origin]).toEqual(["sk-from-vault", "vault:secret/data/llm#openai"]);
    expect([...loaded.source.documents]).toEqual([["vault:secret/data/llm#openai", "vault:secret/data/llm"]]);
  });

  it("may hold a variable", async () => {
    const variables = { STAGE: "llm" };
    const loaded = await loadText(config(`vault:secret/data/\${STAGE}#openai`), { secrets, variables });
    expect(loaded.snapshot?.providers.get("up")?.apiKey?.reveal()).toBe("sk-from-vault");
  });

  it.each([
    ["vault:secret/data/llm", "is not vault:path#field"],
    ["vault:secret/data/nope#x", "does not resolve: vault at"],
    ["vault:secret/data/llm#x", "does not resolve: it has no field `x`"],
    ["aws-sm:#x", "is not aws-sm:name#field"],
    ["gcp-sm:x", "is not the name of a secret"],
  ])("%s refuses to load, at its line", async (reference, words) => {
    const loaded = await loadText(config(reference), { secrets });
    expect(loaded.snapshot).toBeNull();
    expect(lines(loaded)).toHaveLength(1);
    expect(lines(loaded)[0]).toMatch(/^2:32 error providers\.up\.api_key: /);
    expect(lines(loaded)[0]).toContain(words);
  });

  it("that leads nowhere drops what used it where that is allowed, or where nothing uses it", async () => {
    const allowed = await loadText(config("vault:secret/data/nope#x"), { secrets, allowMissingSecrets: true });
    expect(allowed.snapshot?.routes.get("default")?.chain).toEqual(["sim/echo"]);
    expect(lines(allowed)[0]).toContain("left out, because `vault:secret/data/nope#x` does not resolve");
    const idle = '  idle: { kind: openai, api_key: "vault:secret/data/nope#x" }';
    const unused = await loadText(config("vault:secret/data/llm#openai", idle), { secrets });
    expect(unused.snapshot?.providers.has("idle")).toBe(false);
  });

  it("is asked for together with all the others", async () => {
    const names = Array.from({ length: 8 }, (_, i) => `many${i}`);
    const more = names.map((name) => `  ${name}: { kind: openai, api_key: "vault:secret/data/${name}#x" }`).join("\n");
    vault.trouble("hangs");
    vault.asked.length = 0;
    const variables = new Map(Object.entries({ VAULT_ADDR: vault.url, VAULT_TOKEN: "root" }));
    const own = openSecrets({ environment: environmentOf(variables), clock: systemClock, random: systemRandom() });
    const loading = loadText(config("env:KEY", more), { secrets: own, variables: { KEY: "sk-1234567890" } });
    // None of them is answered, and yet every one is asked.
    await until("all questions", () => vault.asked.length === names.length);
    vault.trouble("none");
    await vault.stop();
    const loaded = await loading;
    own.close();
    await vault.start();
    expect(lines(loaded).filter((line) => line.includes("nothing uses it"))).toHaveLength(names.length);
  });

  it("without anybody to ask leads nowhere", async () => {
    const loaded = await loadText(config("vault:secret/data/llm#openai"));
    expect(lines(loaded)[0]).toContain("no secret manager is asked here");
  });
});

describe("a line of the config that is shown", () => {
  it.each([
    'tenants: { t: { models: { allow: ["*"] }, credentials: { up: sk-literal-1 } } }',
    'tenants: { t: { models: { allow: ["*"] }, credentials: { up: { api_key: sk-literal-1 } } } }',
  ])("shows no credential of a tenant: %s", async (line) => {
    const text = `${config("vault:secret/data/llm#openai")}\n${line}\n`;
    const { frame, source } = await loadText(text, { secrets });
    const shown = frame(source.file === null ? "" : "sluicegate.yaml", text.split("\n").indexOf(line) + 1, 1)?.text;
    expect(shown).toContain("credentials");
    expect(shown).not.toContain("sk-literal");
  });
});
