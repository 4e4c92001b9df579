import type { RequestRecord } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Explanation } from "../src/admin/explanation.ts";
import { errorOf } from "./support/answers.ts";
import { ADMIN_KEY, keyHash, startTestGateway, type TestGateway } from "./support/gateway.ts";

const KEYS = { acme: "sg_acme", pinned: "sg_pinned", free: "sg_free" };
const key = (id: keyof typeof KEYS): object => ({ id, hash: keyHash(KEYS[id]), tenant: id });
const deployment = (tag: string, changes: object = {}): object => ({
  ...{ provider: "sim", model: `echo?tag=${tag}`, region: "eu-west", max_classification: "restricted" },
  ...changes,
});

const CONFIG = JSON.stringify({
  gateway: { region: "eu-west" },
  classifications: ["public", "internal", "restricted"],
  regions: { eu: ["eu-west"] },
  task_classes: ["reasoning", "extraction"],
  providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
  deployments: {
    big: deployment("big"),
    us: deployment("us", { region: "us-east" }),
    open: deployment("open", { max_classification: "public" }),
    next: deployment("next"),
    theirs: deployment("theirs", { tenants: ["pinned"] }),
  },
  routes: {
    main: { chain: ["us", "open", "big"], tenant_overrides: { pinned: ["theirs"] } },
    trial: { chain: ["big"], canary: { deployment: "next", percent: 50, variant: "next" } },
    foreign: { chain: ["us"] },
    shown: { chain: ["open"] },
    tuned: {
      chain: ["big"],
      complexity: { cheap: "open", capable: "big", short: 20, long: 2000 },
    },
  },
  rules: [{ name: "extraction", priority: 10, when: { task_class: ["extraction"], alias: ["main"] }, chain: ["big"] }],
  tenants: {
    acme: { models: { allow: "*" } },
    pinned: { models: { allow: "*" } },
    free: { models: { allow: ["*", "sim/*", "deployment:big"] }, allow: ["hedge", "priority_high"] },
  },
  keys: [key("acme"), key("pinned"), key("free")],
});

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ config: CONFIG });
});
afterAll(() => gateway.close());

async function ask(model: string, platform: object = {}, tenant: keyof typeof KEYS = "acme", content = "hello") {
  const body = { model, messages: [{ role: "user", content }], gateway: platform };
  const response = await gateway.post(body, { key: KEYS[tenant] });
  const row = await gateway.row(response.headers.get("x-request-id") ?? "");
  return { status: response.status, error: response.ok ? null : await errorOf(response), row };
}

async function explain(body: object): Promise<Explanation> {
  const response = await fetch(`${gateway.url}/admin/explain`, {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Explanation;
}

const short = ({ route, rule, variant, deployment: served }: RequestRecord) => ({ route, rule, variant, served });

describe("over real sockets", () => {
  test.each<[string, string, object, keyof typeof KEYS, object]>([
    ["a chain", "main", {}, "acme", { route: "main", rule: "chain", served: "us" }],
    ["a residency", "main", { residency: "eu" }, "acme", { rule: "chain", served: "open" }],
    ["a class", "main", { residency: "eu", classification: "internal" }, "acme", { rule: "chain", served: "big" }],
    ["a rule", "main", { task_class: "extraction" }, "acme", { rule: "extraction", served: "big" }],
    ["a tenant's own chain", "main", { task_class: "extraction" }, "pinned", { rule: "override", served: "theirs" }],
    ["a raw name", "deployment:big", {}, "free", { route: "deployment:big", rule: "raw", served: "big" }],
  ])("%s decides", async (_, model, platform, tenant, expected) => {
    const { status, row } = await ask(model, platform, tenant);
    expect({ status, ...short(row) }).toMatchObject({ status: 200, ...expected });
    const found = await explain({ request_id: row.request_id });
    expect(found).toMatchObject({ route: row.route, rule: row.rule, variant: row.variant });
    expect(found.chain[0]).toBe(row.deployment);
    expect(found.facts).toEqual(row.facts);
  });

  test.each<[string, string, object, string, number, string | undefined]>([
    [
      "a residency that nobody of the chain is in",
      "foreign",
      { residency: "eu" },
      "residency_violation",
      403,
      undefined,
    ],
    ["a residency that the gateway is not in", "main", { residency: "us-east" }, "residency_violation", 403, undefined],
    [
      "a class that nobody may hold",
      "shown",
      { classification: "restricted" },
      "classification_violation",
      403,
      undefined,
    ],
    ["a class that is not declared", "main", { classification: "secret" }, "invalid_request", 400, undefined],
    ["a region that nothing is in", "main", { residency: "eu-wst" }, "invalid_request", 400, "did you mean `eu-west`"],
    [
      "a task class that is not declared",
      "main",
      { task_class: "reasonin" },
      "invalid_request",
      400,
      "did you mean `reasoning`",
    ],
    ["a hedge that is not allowed", "main", { hedge: true }, "permission_denied", 403, "hedge"],
    ["a priority that is not allowed", "main", { priority: "high" }, "permission_denied", 403, "priority_high"],
  ])("%s is refused, and the refusal can be explained", async (_, model, platform, code, status, words = "") => {
    const refused = await ask(model, platform);
    expect(refused).toMatchObject({ status, error: { code } });
    expect(refused.error?.message).toContain(words);
    expect(refused.row).toMatchObject({ status: "refused", error_code: code, attempts: [] });
    const found = await explain({ request_id: refused.row.request_id });
    expect(found).toMatchObject({ chain: [], refused: { code, message: refused.error?.message } });
  });

  test("what a tenant is allowed is taken", async () => {
    expect(await ask("main", { hedge: true, priority: "high" }, "free")).toMatchObject({ status: 200 });
    expect(await ask("main", { hedge: false, priority: "low" })).toMatchObject({ status: 200 });
  });

  test("a conversation stays in its variant, which its rows name", async () => {
    const variants = new Map<string, Set<string | null>>();
    for (let i = 0; i < 24; i++) {
      const session = `s${i % 6}`;
      const { row } = await ask("trial", { session_id: session });
      expect(row.deployment).toBe(row.variant === "next" ? "next" : "big");
      expect(row.rule).toBe(row.variant === "next" ? "canary" : "chain");
      variants.set(session, (variants.get(session) ?? new Set()).add(row.variant));
    }
    for (const seen of variants.values()) expect(seen.size).toBe(1);
    expect(new Set([...variants.values()].flatMap((seen) => [...seen]))).toEqual(new Set(["next", "stable"]));
  });

  test("what is short goes to the cheap one", async () => {
    expect((await ask("tuned", {}, "acme", "hi")).row.deployment).toBe("open");
    expect((await ask("tuned", {}, "acme", "x".repeat(2_001))).row.deployment).toBe("big");
  });
});
