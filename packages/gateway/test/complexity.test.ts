import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { RequestRecord } from "@sluicegate/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;
let server: Server;
/** What the HTTP classifier says; null: nothing at all. */
let score: number | null = 0.1;
const asked: unknown[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked.push(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      if (score !== null) response.end(JSON.stringify({ score }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/classify`;
  const plain = { cheap: "cheap", capable: "capable" };
  const complexity = { ...plain, budget: "2s" };
  const config = {
    providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
    deployments: {
      cheap: { provider: "sim", model: "echo?tag=cheap" },
      capable: { provider: "sim", model: "echo?tag=capable" },
      tiny: { provider: "sim", model: "fixed?input=20&output=1" },
      mute: { provider: "sim", model: "hang" },
      next: { provider: "sim", model: "echo?tag=next" },
    },
    routes: {
      plain: { chain: ["capable"], complexity: plain },
      http: { chain: ["capable"], complexity: { ...complexity, classifier: { url } } },
      model: { chain: ["capable"], complexity: { ...complexity, classifier: { alias: "tiny" } } },
      silent: { chain: ["capable"], complexity: { ...complexity, budget: "50ms", classifier: { alias: "mute" } } },
      tiny: { chain: ["tiny"] },
      mute: { chain: ["mute"] },
      flagged: { chain: ["capable"], canary: { deployment: "next", percent: 100, variant: "next", flag: "use-next" } },
      trial: { chain: ["capable"], canary: { deployment: "next", percent: 100, variant: "next" } },
    },
    flags: { provider: "env", prefix: "SLUICEGATE_FLAG_" },
    tenants: { default: { models: { allow: ["plain", "http", "model", "silent", "flagged", "trial"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
  };
  gateway = await startTestGateway({
    config: JSON.stringify(config),
    variables: { SLUICEGATE_FLAG_USE_NEXT: "false" },
  });
});

afterAll(async () => {
  await gateway.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const SHORT = "hi";
const MIDDLING = "why ".repeat(120);
const LONG = "word ".repeat(600);

async function serve(model: string, content: string, more = {}): Promise<RequestRecord> {
  const answer = await gateway.post({ model, messages: [{ role: "user", content }], ...more });
  expect(answer.status).toBe(200);
  return gateway.row(answer.headers.get("x-request-id") ?? "");
}

const tools = [1, 2, 3, 4].map((n) => ({
  type: "function",
  function: { name: `f${n}`, parameters: { type: "object" } },
}));

test("what is short and without tools is cheap; what is long or has many tools is not", async () => {
  expect((await serve("plain", SHORT)).deployment).toBe("cheap");
  expect((await serve("plain", LONG)).deployment).toBe("capable");
  expect((await serve("plain", SHORT, { tools })).deployment).toBe("capable");
  expect((await serve("plain", MIDDLING)).deployment).toBe("capable");
});

test("a server is asked about what is neither, and what it says decides", async () => {
  score = 0.1;
  const cheap = await serve("http", MIDDLING);
  expect(cheap.deployment).toBe("cheap");
  expect(cheap.facts).toMatchObject({ classifier_score: 0.1 });
  expect(asked.at(-1)).toEqual({ text: MIDDLING, tools: 0, alias: "http", tenant: "default" });
  score = 0.9;
  expect((await serve("http", MIDDLING)).deployment).toBe("capable");
  score = 7;
  expect((await serve("http", MIDDLING)).facts).toMatchObject({ classifier_score: null });
  const count = asked.length;
  await serve("http", SHORT);
  expect(asked).toHaveLength(count);
});

test("a model's word is a call of its own, paid by the tenant, which need not be allowed to make it itself", async () => {
  // The simulator's `fixed` repeats the message: its first number is the score.
  const row = await serve("model", `0.2 ${MIDDLING}`);
  expect(row.deployment).toBe("cheap");
  const own = (await gateway.rows()).find(({ purpose }) => purpose === "classifier");
  expect(own).toMatchObject({ parent_request_id: row.request_id, tenant: "default", deployment: "tiny", status: "ok" });
  expect(own?.usage).toMatchObject({ input_tokens: 20, output_tokens: 1 });
  expect((await serve("model", `0.8 ${MIDDLING}`)).deployment).toBe("capable");
});

test("a classifier that says nothing in its time leaves it to the capable one", async () => {
  const row = await serve("silent", MIDDLING);
  expect(row.deployment).toBe("capable");
  expect(row.facts).toMatchObject({ classifier_score: null });
  const own = (await gateway.rows()).find(
    ({ deployment, purpose }) => purpose === "classifier" && deployment === "mute",
  );
  expect(own).toMatchObject({ status: "failed", error_code: "provider_timeout" });
});

test("a flag turns an experiment off", async () => {
  expect(await serve("flagged", SHORT)).toMatchObject({
    deployment: "capable",
    variant: "stable",
    facts: { flags: { "use-next": false } },
  });
  expect(await serve("trial", SHORT)).toMatchObject({ deployment: "next", variant: "next", rule: "canary" });
});
