import type { RequestRecord } from "@sluicegate/contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { keyedConfig, vaultVariables } from "./support/keyed-config.ts";
import { type KeyedUpstream, startKeyedUpstream } from "./support/keyed-upstream.ts";
import { until } from "./support/until.ts";
import { startVault, type VaultServer } from "./support/vault-server.ts";

const [SHARED, OWN, OWN_NEXT] = ["sk-shared-11111111", "sk-own-22222222", "sk-own-next-33333333"] as const;
const OWN_CLIENT = `sg_own_${"b2".repeat(32)}`;
const ASK = { model: "default", messages: [{ role: "user", content: "hi" }] };

let vault: VaultServer;
let upstream: KeyedUpstream;
let gateway: TestGateway;

beforeEach(async () => {
  vault = await startVault();
  vault.secrets.set("llm", { openai: SHARED });
  vault.secrets.set("acme", { openai: OWN });
  upstream = await startKeyedUpstream(SHARED, OWN);
  gateway = await startTestGateway({
    config: keyedConfig(upstream.url, {
      tenants: "  acme: { models: { allow: ['*'] }, credentials: { up: 'vault:secret/data/acme#openai' } }",
      keys: `  - { id: own, hash: '${keyHash(OWN_CLIENT)}', tenant: acme }`,
    }),
    variables: vaultVariables(vault),
  });
});
afterEach(async () => {
  await gateway.close();
  await upstream.close();
  await vault.stop();
});

/** One call, by the tenant with its own key or by the other. */
async function call(who: "shared" | "own"): Promise<{ status: number; text: string; row: RequestRecord }> {
  const response = await gateway.post(ASK, who === "own" ? { key: OWN_CLIENT } : {});
  const text = await response.text();
  return { status: response.status, text, row: await gateway.row(response.headers.get("x-request-id") ?? "") };
}

describe("a tenant with its own key", () => {
  test("uses it, and nobody else does; each attempt says whose it was", async () => {
    expect((await call("own")).row.attempts[0]?.credential).toEqual({ name: "up", generation: 1, owner: "tenant" });
    expect((await call("shared")).row.attempts[0]?.credential).toEqual({ name: "up", generation: 1, owner: "shared" });
    expect([upstream.calls(OWN), upstream.calls(SHARED)]).toEqual([1, 1]);
    // On the same connections.
    expect(new Set(upstream.hits.map(({ headers }) => headers.host)).size).toBe(1);
  });

  test("whose key is refused fails alone: the shared one is neither used for it nor touched", async () => {
    upstream.keys.delete(OWN);
    const refused = await call("own");
    expect(refused.status).toBe(502);
    expect(refused.row.attempts).toMatchObject([{ error_class: "auth_failed", credential: { owner: "tenant" } }]);
    expect(upstream.calls(SHARED)).toBe(0);
    expect((await call("shared")).status).toBe(200);
    expect((await call("shared")).row.attempts[0]?.credential?.generation).toBe(1);
  });

  test("whose key is rotated gets the new one without a failed call, and the shared one stays", async () => {
    vault.secrets.set("acme", { openai: OWN_NEXT });
    upstream.keys = new Set([SHARED, OWN_NEXT]);
    const after = await call("own");
    expect(after.status).toBe(200);
    expect(after.row.attempts).toMatchObject([
      { credential: { generation: 1, owner: "tenant" } },
      { credential: { generation: 2, owner: "tenant" } },
    ]);
    expect((await call("shared")).row.attempts[0]?.credential).toMatchObject({ generation: 1, owner: "shared" });
  });

  test("whose circuit opens leaves the shared one closed, and its retries whole", async () => {
    upstream.fault = { status: 500, body: { error: { message: "broken" } } };
    for (let i = 0; i < 4; i++) await call("own");
    const refused = await call("own");
    expect(refused.status).toBe(503);
    expect(refused.row.attempts).toHaveLength(0);
    expect((await call("shared")).row.attempts).toHaveLength(2);
    upstream.fault = null;
    expect((await call("shared")).status).toBe(200);
  });

  test("learns nothing of any key from an error that quotes it", async () => {
    upstream.keys.clear();
    upstream.refusal = {
      status: 400,
      body: { error: { message: "the project of KEY may not do this", type: "invalid_request_error" } },
    };
    for (const who of ["own", "shared"] as const) {
      const { status, text } = await call(who);
      expect(status).toBe(400);
      expect(text).toContain("the project of *** may not do this");
    }
  });
});

test("a key of a tenant comes and goes with the config, its generations counted on", async () => {
  const config = (tenant: string): string =>
    keyedConfig(upstream.url, {
      tenants: `  acme: { models: { allow: ['*'] }${tenant} }`,
      keys: `  - { id: own, hash: '${keyHash(OWN_CLIENT)}', tenant: acme }`,
    });
  gateway.writeConfig(config(""));
  expect((await gateway.gateway.reload()).ok).toBe(true);
  await until("the shared key", async () => (await call("own")).row.attempts[0]?.credential?.owner === "shared");
  gateway.writeConfig(config(`, credentials: { up: { api_key: ${OWN} } }`));
  expect((await gateway.gateway.reload()).ok).toBe(true);
  await until("its own", async () => (await call("own")).row.attempts[0]?.credential?.owner === "tenant");
});
