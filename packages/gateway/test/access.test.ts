import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { errorOf } from "./support/answers.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";

/** Keys by name; the config knows their hashes. */
const keyOf = (name: string): string => `sg_${name}_${name.padEnd(40, "0")}`;

/** Policies of tenants; each has one key of the same name without a policy of its own. */
const TENANTS: Record<string, unknown> = {
  every: { models: { allow: "*" } },
  star: { models: "*" },
  listed: { models: { allow: ["default", "fast"] } },
  denied: { models: { allow: "*", deny: ["fast"] } },
  both: { models: { allow: ["default", "fast"], deny: ["fast"] } },
  raw: { models: { allow: ["sim/*"] } },
  exact: { models: { allow: ["deployment:a", "sim/echo"] } },
  rawdenied: { models: { allow: ["default", "sim/*", "deployment:b"], deny: ["sim/long", "deployment:b"] } },
  nothing: {},
  strict: { models: "*", require: ["classification", "task_class"], defaults: { classification: "internal" } },
  apps: { models: "*", applications: { bot: {}, web: {} }, teams: { red: {} } },
};
/** Keys that narrow their tenant. */
const KEYS: Record<string, Record<string, unknown>> = {
  narrow: { tenant: "listed", models: { allow: ["fast", "default"], deny: ["default"] } },
  wide: { tenant: "listed", models: "*" },
  hollow: { tenant: "nothing", models: "*" },
  bound: { tenant: "apps", application: "bot", team: "red" },
  without: { tenant: "every", models: { allow: "*", deny: ["deployment:b"] } },
  novendor: { tenant: "every", models: { allow: "*", deny: ["spare/*"] } },
};

let gateway: TestGateway;
let log: FaultLog;
let before = 0;

beforeAll(async () => {
  log = faultLog();
  gateway = await startTestGateway({ log, config: JSON.stringify(config()) });
});

beforeEach(() => {
  before = gateway.simulator.requests().total;
});

afterEach(async () => {
  const answer = await gateway.post(body("default"), { key: keyOf("every") });
  expect(answer.status).toBe(200);
});

afterAll(async () => {
  log.expectNoFault();
  await gateway.close();
});

function config(): Record<string, unknown> {
  const deployment = (name: string, model: string, provider = "sim") => ({
    [name]: { provider, model: `${model}${model.includes("?") ? "&" : "?"}tag=${name}` },
  });
  return {
    providers: {
      sim: { kind: "simulator", base_url: "SIMULATOR" },
      spare: { kind: "simulator", base_url: "SIMULATOR" },
    },
    deployments: {
      ...deployment("a", "echo"),
      ...deployment("b", "echo"),
      ...deployment("c", "echo"),
      ...deployment("down", "error?status=503"),
      ...deployment("other", "echo", "spare"),
    },
    routes: {
      default: { chain: ["a"] },
      fast: { chain: ["b"] },
      shaky: { chain: ["down", "b", "c"] },
      elsewhere: { chain: ["other", "a"] },
      vendor: { chain: ["other"] },
    },
    tenants: TENANTS,
    keys: [
      ...Object.keys(TENANTS).map((name) => ({ id: name, hash: keyHash(keyOf(name)), tenant: name })),
      ...Object.entries(KEYS).map(([name, more]) => ({ id: name, hash: keyHash(keyOf(name)), ...more })),
    ],
  };
}

function body(model: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, messages: [{ role: "user", content: "hi" }], ...more };
}

function hitsOf(deployment: string): number {
  const models = Object.entries(gateway.simulator.requests().by_model);
  return models.find(([model]) => model.endsWith(`tag=${deployment}`))?.[1] ?? 0;
}

async function aliasesOf(key: string): Promise<string[]> {
  const answer = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${keyOf(key)}` } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe("what a key may ask for", () => {
  test.each<[string, string]>([
    ["every", "default"],
    ["every", "shaky"],
    ["star", "fast"],
    ["listed", "default"],
    ["denied", "default"],
    ["both", "default"],
    ["narrow", "fast"],
    ["wide", "default"],
    ["raw", "sim/echo"],
    ["raw", "sim/some-model-nobody-listed"],
    ["exact", "sim/echo"],
    ["exact", "deployment:a"],
    ["rawdenied", "default"],
    ["rawdenied", "sim/echo"],
  ])("%s may use %s", async (key, model) => {
    const answer = await gateway.post(body(model), { key: keyOf(key) });
    expect(answer.status).toBe(200);
    const row = await gateway.row(answer.headers.get("x-request-id") ?? "");
    const raw = /[/:]/.test(model);
    expect(row).toMatchObject({ status: "ok", alias: model, rule: raw ? "raw" : "chain", key_id: key });
  });

  test.each<[string, string, string]>([
    ["listed", "shaky", "not_in_allow_list"],
    ["denied", "fast", "denied"],
    ["both", "fast", "denied"],
    ["narrow", "default", "denied"],
    ["wide", "shaky", "not_in_allow_list"],
    ["nothing", "default", "no_policy"],
    ["hollow", "default", "no_policy"],
    ["every", "sim/echo", "not_in_allow_list"],
    ["star", "sim/echo", "not_in_allow_list"],
    ["every", "deployment:a", "not_in_allow_list"],
    ["raw", "default", "not_in_allow_list"],
    ["raw", "spare/echo", "not_in_allow_list"],
    ["raw", "deployment:a", "not_in_allow_list"],
    ["exact", "sim/echo?tag=x", "not_in_allow_list"],
    ["exact", "deployment:b", "not_in_allow_list"],
    ["rawdenied", "sim/long", "denied"],
    ["rawdenied", "deployment:b", "denied"],
    ["without", "fast", "denied"],
    ["novendor", "vendor", "denied"],
  ])("%s may not use %s: %s", async (key, model, reason) => {
    for (const more of [{}, { stream: true }]) {
      const answer = await gateway.post(body(model, more), { key: keyOf(key) });
      expect(answer.status).toBe(403);
      expect(answer.headers.get("x-should-retry")).toBe("false");
      const error = await errorOf(answer);
      expect(error).toMatchObject({ code: "model_not_allowed", type: "permission_error", param: "model", reason });
      const row = await gateway.row(error.request_id);
      expect(row).toMatchObject({ status: "refused", error_code: "model_not_allowed", alias: model, key_id: key });
      expect(row).toMatchObject({ attempts: [], cost_micro_usd: 0 });
    }
    const embedding = await gateway.post({ model, input: "hi" }, { path: "/v1/embeddings", key: keyOf(key) });
    expect(embedding.status).toBe(403);
    expect(gateway.simulator.requests().total).toBe(before);
  });

  test("a name that nobody has is a 404, and only what this key may use is suggested", async () => {
    const error = await errorOf(await gateway.post(body("shakey"), { key: keyOf("listed") }));
    expect(error.code).toBe("model_not_found");
    expect(error.message).not.toContain('"shaky"');
    expect((await errorOf(await gateway.post(body("shakey"), { key: keyOf("every") }))).message).toContain('"shaky"');
    expect(gateway.simulator.requests().total).toBe(before);
  });
});

describe("a deployment that is denied", () => {
  test("leaves the chain: a fallback goes past it", async () => {
    const hits = { b: hitsOf("b"), c: hitsOf("c") };
    const answer = await gateway.post(body("shaky"), { key: keyOf("without") });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("c");
    expect({ b: hitsOf("b"), c: hitsOf("c") }).toEqual({ b: hits.b, c: hits.c + 1 });
    const row = await gateway.row(answer.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ deployment }) => deployment)).toEqual(["down", "c"]);
    const open = await gateway.post(body("shaky"), { key: keyOf("every") });
    expect(open.headers.get("x-sluicegate-deployment")).toBe("b");
  });

  test("leaves it also where it is denied by its provider", async () => {
    const answer = await gateway.post(body("elsewhere"), { key: keyOf("novendor") });
    expect(answer.headers.get("x-sluicegate-deployment")).toBe("a");
    expect(hitsOf("other")).toBe(0);
    const open = await gateway.post(body("elsewhere"), { key: keyOf("every") });
    expect(open.headers.get("x-sluicegate-deployment")).toBe("other");
  });
});

describe("the list of models", () => {
  test.each<[string, string[]]>([
    ["every", ["default", "fast", "shaky", "elsewhere", "vendor"]],
    ["listed", ["default", "fast"]],
    ["denied", ["default", "shaky", "elsewhere", "vendor"]],
    ["both", ["default"]],
    ["narrow", ["fast"]],
    ["wide", ["default", "fast"]],
    ["raw", []],
    ["exact", []],
    ["nothing", []],
    ["hollow", []],
  ])("of %s is what it may use", async (key, aliases) => {
    expect(await aliasesOf(key)).toEqual(aliases);
    for (const alias of ["default", "fast"]) {
      const one = await fetch(`${gateway.url}/v1/models/${alias}`, {
        headers: { authorization: `Bearer ${keyOf(key)}` },
      });
      expect(one.status).toBe(aliases.includes(alias) ? 200 : 404);
    }
  });

  test("is nobody else's business", async () => {
    const answer = await fetch(`${gateway.url}/v1/models`);
    expect(answer.status).toBe(401);
    expect((await errorOf(answer)).code).toBe("invalid_api_key");
  });
});

describe("required fields", () => {
  test.each<[string, Record<string, unknown>, string]>([
    ["nothing", {}, "gateway.classification"],
    ["one of two", { classification: "public" }, "gateway.task_class"],
    ["the other", { task_class: "chat" }, "gateway.classification"],
    ["null", { classification: null, task_class: "chat" }, "gateway.classification"],
  ])("%s given: 400 that names the missing one; the tenant's default does not stand in", async (_, fields, param) => {
    const answer = await gateway.post(body("default", { gateway: fields }), { key: keyOf("strict") });
    expect(answer.status).toBe(400);
    expect(await errorOf(answer)).toMatchObject({
      code: "missing_platform_field",
      type: "invalid_request_error",
      param,
    });
    expect(gateway.simulator.requests().total).toBe(before);
  });

  test("in the body or as headers", async () => {
    const headers = { "x-sluicegate-task-class": "chat", "x-sluicegate-classification": "public" };
    const answer = await gateway.post(body("default", { gateway: { classification: "secret" } }), {
      key: keyOf("strict"),
      headers,
    });
    expect(answer.status).toBe(200);
    const row = await gateway.row(answer.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ task_class: "chat", classification: "secret" });
  });
});

describe("applications", () => {
  test.each<[string, string | undefined, number, string | null]>([
    ["bound", undefined, 200, "bot"],
    ["bound", "bot", 200, "bot"],
    ["bound", "web", 400, null],
    ["apps", undefined, 200, null],
    ["apps", "web", 200, "web"],
    ["apps", "other", 400, null],
    ["every", "anything", 200, "anything"],
  ])("%s naming %s: %d", async (key, application, status, recorded) => {
    const answer = await gateway.post(body("default", { gateway: { application } }), { key: keyOf(key) });
    expect(answer.status).toBe(status);
    if (status === 400) {
      expect(await errorOf(answer)).toMatchObject({ code: "invalid_request", param: "gateway.application" });
      expect(gateway.simulator.requests().total).toBe(before);
      return;
    }
    const row = await gateway.row(answer.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ application: recorded, tenant: key === "bound" ? "apps" : key });
    expect(row.team).toBe(key === "bound" ? "red" : null);
  });
});

describe("refusals in the ledger", () => {
  test("get ten rows, then one that counts the rest; none is lost", async () => {
    const own = await startTestGateway({ log, config: JSON.stringify(config()), waits: { refusalWindowMs: 1_000 } });
    try {
      const key = keyOf("nothing");
      for (let i = 0; i < 40; i++) expect((await own.post(body("default"), { key })).status).toBe(403);
      for (let i = 0; i < 3; i++) await own.post(body("nope"), { key: keyOf("every") });
      const rows = await until("every refusal to be accounted for", async () => {
        const found = (await own.rows()).filter(({ key_id: id }) => id === "nothing");
        return found.reduce((sum, { repeated }) => sum + repeated, 0) >= 40 && found;
      });
      expect(rows.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(40);
      expect(rows.length).toBeLessThan(40);
      expect(Math.max(...rows.map(({ repeated }) => repeated))).toBeGreaterThan(1);
      for (const row of rows) expect(row).toMatchObject({ status: "refused", error_code: "model_not_allowed" });
      expect((await own.rows()).filter(({ key_id: id }) => id === "every")).toHaveLength(3);
      expect(own.simulator.requests().total).toBe(0);
      expect(own.simulator.invoice().total.requests).toBe(0);
    } finally {
      await own.close();
    }
  });
});

describe("a changed config", () => {
  test("takes a key and a permission away at once", async () => {
    const own = await startTestGateway({ log, config: JSON.stringify(config()) });
    try {
      const ask = async (key: string): Promise<number> => (await own.post(body("default"), { key: keyOf(key) })).status;
      expect([await ask("star"), await ask("listed")]).toEqual([200, 200]);
      const next = config();
      const tenants = { ...TENANTS, listed: { models: { allow: ["fast"] } } };
      const keys = (next["keys"] as { id: string }[]).filter(({ id }) => id !== "star" && id !== "narrow");
      own.writeConfig(JSON.stringify({ ...next, tenants, keys }));
      expect(await own.gateway.reload()).toMatchObject({ ok: true });
      await until("the new config", async () => (await ask("star")) === 401);
      expect([await ask("star"), await ask("listed"), await ask("every")]).toEqual([401, 403, 200]);
    } finally {
      await own.close();
    }
  });
});
