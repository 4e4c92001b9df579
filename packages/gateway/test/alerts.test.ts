import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { chatAnswer, startUpstream, type Upstream } from "./support/upstream.ts";

let provider: Upstream;
let webhook: Upstream;
let gateway: TestGateway;

beforeEach(async () => {
  provider = await startUpstream();
  webhook = await startUpstream();
  webhook.answer((response) => void response.writeHead(200).end("ok"));
  gateway = await startTestGateway({
    config: configOf("gpt-90-2031-01-01"),
    variables: { HOOK: `${webhook.url}/hook` },
  });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
  await webhook.close();
});

function configOf(model: string): string {
  return `
providers: { up: { kind: openai, base_url: ${provider.url}/v1, api_key: literal-key } }
deployments:
  main: { provider: up, model: ${model}, breaker: { consecutive: 3, recovery: 10ms }, price: { input: 1, output: 2 } }
  unpriced: { provider: up, model: house-model-1 }
routes:
  default: { chain: [main], retries: { attempts: 1 } }
  house: { chain: [unpriced] }
tenants: { default: { models: { allow: '*' } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
alerts: [{ url: env:HOOK }]
`;
}

function answers(model: string): void {
  provider.answer(
    (response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("hello", { model })),
  );
}

async function ask(model = "default"): Promise<number> {
  const answer = await gateway.post({ model, messages: [{ role: "user", content: "hi" }] });
  await answer.text();
  return answer.status;
}

/** The alerts that have arrived, once there are so many. */
async function alerts(count: number): Promise<Record<string, unknown>[]> {
  while (webhook.hits.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  return webhook.hits.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
}

describe("alerts", () => {
  it("tell the moment the model behind a pinned alias moves, once, and that a moved pin ends it", async () => {
    answers("gpt-90-2031-01-01");
    expect(await ask()).toBe(200);
    answers("gpt-91-2032-01-01");
    for (let i = 0; i < 5; i++) expect(await ask()).toBe(200);
    const [first] = await alerts(1);
    expect(first).toMatchObject({ kind: "model_drift", state: "firing", deployment: "main" });
    expect(first?.["text"]).toContain("pins gpt-90-2031-01-01, but gpt-91-2032-01-01 answers");
    expect(webhook.hits[0]?.path).toBe("/hook");
    gateway.writeConfig(configOf("gpt-91-2032-01-01"));
    await gateway.gateway.reload();
    const all = await alerts(2);
    expect(all.map(({ kind, state }) => [kind, state])).toEqual([
      ["model_drift", "firing"],
      ["model_drift", "resolved"],
    ]);
  });

  it("tell that a circuit has opened, and that it is closed again", async () => {
    provider.answer((response) => void response.writeHead(500).end("{}"));
    for (let i = 0; i < 3; i++) await ask();
    expect(await alerts(1)).toMatchObject([
      { kind: "breaker_opened", state: "firing", deployment: "main", alias: "default" },
    ]);
    answers("gpt-90-2031-01-01");
    while ((await ask()) !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await alerts(2))[1]).toMatchObject({ kind: "breaker_opened", state: "resolved", deployment: "main" });
  });

  it("tell of what is used without a price", async () => {
    answers("house-model-1");
    for (let i = 0; i < 3; i++) expect(await ask("house")).toBe(200);
    expect(await alerts(1)).toMatchObject([{ kind: "missing_price", deployment: "unpriced" }]);
  });

  it("hold nobody up while their webhook is dead", async () => {
    webhook.answer(() => {});
    answers("gpt-91-2032-01-01");
    for (let i = 0; i < 20; i++) expect(await ask()).toBe(200);
    await alerts(1);
    expect(webhook.hits.length).toBe(1);
  });
});
