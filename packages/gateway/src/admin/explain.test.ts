import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aDeployment, aRoute, aTenant } from "../config/fixtures/parts.ts";
import type { KeyEntry, ProviderConfig } from "../config/snapshot.ts";
import { systemClock } from "../core/clock.ts";
import { UNKNOWN_HEALTH } from "../core/health.ts";
import { aRow } from "../ledger/fixtures/rows.ts";
import { offlineRuntime } from "../offline-runtime.ts";
import { aConfig, someFacts } from "../routing/fixtures/config.ts";
import { explainedRequestShape, explanationShape } from "./explain-shapes.ts";
import { KEYS, NOW, startControl, type TestControl } from "./fixtures/control.ts";

const provider = (name: string, kind: ProviderConfig["kind"], baseUrl: string): ProviderConfig => ({
  ...{ name, kind, preset: null, baseUrl, apiKey: null, auth: null, headers: {}, forwardHeaders: [] },
  ...{ connections: 8, tls: null, proxy: null },
});
const key = (changes: Partial<KeyEntry>): KeyEntry => ({
  ...{ id: "k", hash: "", tenant: "acme", team: null, application: null, name: null, models: null },
  ...{ expiresAt: null, source: "config" as const },
  ...changes,
});
const KEYRING = [key({ id: "ci", models: { allow: ["main"], deny: ["deployment:big"] }, team: "payments" })];

const config = aConfig({
  providers: [
    provider("openai", "openai", "http://127.0.0.1:9/v1"),
    provider("claude", "anthropic", "http://127.0.0.1:9"),
  ],
  deployments: [
    aDeployment("big", { provider: "openai", region: "eu-west", maxClassification: "restricted" }),
    aDeployment("small", { provider: "openai", region: "us-east", capabilities: [] }),
    aDeployment("claude-eu", { provider: "claude", region: "eu-west" }),
  ],
  routes: [aRoute("main", ["small", "big", "claude-eu"]), aRoute("other", ["small"])],
  rules: [
    {
      ...{ name: "payments-first", priority: 1, when: { team: ["payments"] }, unless: null, mode: "enforce" },
      chain: ["claude-eu", "small"],
    },
  ],
  classifications: ["public", "restricted"],
  regions: new Map([["eu", ["eu-west"]]]),
  tenants: [
    aTenant("acme", { require: ["classification"] }),
    aTenant("other", { models: { allow: ["other"], deny: [] } }),
  ],
});
const runtime = { ...offlineRuntime(config, systemClock), madeDeployments: () => [], ceilings: () => [] };
const BOUND = "an-operator-of-acme";

let control: TestControl;
beforeAll(async () => {
  control = await startControl({
    routing: {
      runtime: () => runtime,
      health: (name) =>
        name === "small" ? { ...UNKNOWN_HEALTH, circuit: "open", retryAt: NOW + 9_000 } : UNKNOWN_HEALTH,
      key: (id) => KEYRING.find((entry) => entry.id === id) ?? null,
      tryConfig: async () => ({ runtime: null, problems: [] }),
    },
  });
  const facts = { ...someFacts({ classification: "public", health: { big: { degraded: true } } }) };
  control.add(aRow("req_1", { facts, tenant: "acme", key_id: "gone" }));
  control.add(aRow("req_ci", { facts: { ...facts, team: "payments" }, tenant: "acme", key_id: "ci" }));
  const refused = { ...facts, classification: "restricted", residency: "us-east" };
  control.add(aRow("req_no", { facts: refused, tenant: "acme", status: "refused", error_code: "residency_violation" }));
  control.add(aRow("req_never", { facts: null, tenant: "acme" }));
  control.add(aRow("req_else", { facts: { ...facts, tenant: "other" }, tenant: "other" }));
});
afterAll(() => control.close());

async function ask(body: object, admin = KEYS.admin): Promise<{ status: number; body: unknown }> {
  const headers = { "content-type": "application/json" };
  const answer = await control.get("/admin/explain", admin, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}
async function explained(body: object, admin = KEYS.admin) {
  const answer = await ask(body, admin);
  expect(answer).toMatchObject({ status: 200 });
  return explanationShape.parse(answer.body);
}
const said = { alias: "main", tenant: "acme", classification: "public" };

describe("a request that might be", () => {
  it("is explained by how the deployments are now, in the shape that is documented", async () => {
    const found = await explained(said);
    expect(found).toMatchObject({
      route: "main",
      rule: "chain",
      strategy: "ordered",
      chain: ["big", "claude-eu", "small"],
    });
    expect(found.candidates[2]).toMatchObject({ deployment: "small", kept: true });
    expect(found.candidates[2]?.reason).toContain("circuit is open");
    expect(found).toMatchObject({ refused: null, config: { revision: "r1", recorded: null } });
  });

  it.each([
    [{ tools: 1 }, { deployment: "small", gate: "capability" }],
    [{ residency: "eu" }, { deployment: "small", gate: "residency" }],
    [{ classification: "restricted" }, { deployment: "small", gate: "classification" }],
    [{ images: true }, { deployment: "small", gate: "capability" }],
  ])("meets the gates: %j", async (changes, removed) => {
    expect((await explained({ ...said, ...changes })).candidates).toContainEqual(expect.objectContaining(removed));
  });

  it("is held to its key's permissions, and is its key's team's", async () => {
    const found = await explained({ alias: "main", key_id: "ci", classification: "public" });
    expect(found).toMatchObject({ rule: "payments-first", chain: ["claude-eu", "small"] });
    expect(found.facts).toMatchObject({ tenant: "acme", team: "payments" });
  });

  it.each([
    [{ alias: "main", tenant: "acme" }, "missing_platform_field", /classification is required/],
    [{ ...said, alias: "mian" }, "model_not_found", /did you mean/],
    [{ ...said, tenant: "other" }, "model_not_allowed", /may not use "main"/],
    [
      { ...said, classification: "restricted", residency: "us-east" },
      "residency_violation",
      /this gateway is in eu-west/,
    ],
    [{ ...said, classification: "secret" }, "invalid_request", /there is no "secret"/],
    [{ ...said, priority: "high" }, "permission_denied", /priority_high/],
    [{ ...said, tenant: "nobody" }, "invalid_api_key", /not configured/],
  ])("is refused in the words the client would hear: %j", async (body, code, message) => {
    const found = await explained(body);
    expect(found).toMatchObject({ chain: [], refused: { code } });
    expect(found.refused?.message).toMatch(message);
  });

  it.each([
    [{ tenant: "acme" }, "alias"],
    [{ alias: "main" }, "tenant"],
    [{ ...said, tols: 1 }, "tols"],
    [{ ...said, tools: -1 }, "tools"],
    [{ ...said, tools: "two" }, "tools"],
    [{ ...said, priority: "urgent" }, "priority"],
    [{ ...said, draw: 1 }, "draw"],
    [{ ...said, dialect: "smoke-signals" }, "dialect"],
    [{ ...said, key_id: "cj" }, "key_id"],
    [{ request_id: "req_1", tenant: "acme" }, "tenant"],
  ])("is asked for properly: %j", async (body, param) => {
    expect(await ask(body)).toMatchObject({ status: 400, body: { error: { param } } });
  });
});

describe("a request that was made", () => {
  it("is explained by its row, not by how things are now", async () => {
    const found = await explained({ request_id: "req_1" });
    expect(found).toMatchObject({ chain: ["small", "claude-eu", "big"], config: { recorded: "r1" } });
    expect(found.candidates[2]?.reason).toContain("slower than usual");
  });

  it("is held to the key it was made with", async () => {
    expect(await explained({ request_id: "req_ci" })).toMatchObject({ rule: "payments-first" });
  });

  it("is explained when it was refused", async () => {
    expect(await explained({ request_id: "req_no" })).toMatchObject({
      chain: [],
      refused: { code: "residency_violation" },
    });
  });

  it("has its decision beside it", async () => {
    const one = async (id: string) =>
      explainedRequestShape.parse(await (await control.get(`/admin/requests/${id}`)).json());
    expect((await one("req_1")).decision).toMatchObject({ chain: ["small", "claude-eu", "big"] });
    expect((await one("req_never")).decision).toBeNull();
  });

  it.each(["req_nothing", "req_never"])("is not found: %s", async (request_id) => {
    expect(await ask({ request_id })).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  });
});

describe("who may ask", () => {
  it("is an operator, for its own tenant where it is bound to one", async () => {
    expect(await ask(said, KEYS.viewer)).toMatchObject({ status: 403 });
    expect(await ask(said, BOUND)).toMatchObject({ status: 401 });
    const { adminKeys } = control.parts;
    const bound = {
      hash: (await import("node:crypto")).hash("sha256", BOUND),
      role: "operator",
      tenant: "acme",
    } as const;
    control.parts.adminKeys = () => [...adminKeys(), bound];
    const { tenant, ...mine } = said;
    expect(await explained(mine, BOUND)).toMatchObject({ facts: { tenant } });
    expect(await ask({ ...said, tenant: "other" }, BOUND)).toMatchObject({ status: 403 });
    expect(await ask({ request_id: "req_else" }, BOUND)).toMatchObject({ status: 404 });
    expect(await ask({ request_id: "req_1" }, BOUND)).toMatchObject({ status: 200 });
  });
});
