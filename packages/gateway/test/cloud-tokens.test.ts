import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at } from "./support/loose-json.ts";
import { type TestAccount, testServiceAccount } from "./support/service-account.ts";
import { sendJson, startTokenServer, type TokenServer } from "./support/token-server.ts";
import { until } from "./support/until.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

/* Providers whose credential is a short-lived token: fetched once, renewed when refused, and never the end of a stream. */

let tokens: TokenServer;
let upstream: Upstream;
let account: TestAccount;
let gateway: TestGateway;

/** Each way to a token, and the calls by which it is asked for one. */
const WAYS = {
  "azure-openai with a client's secret": () =>
    `kind: azure-openai, endpoint: '${upstream.url}', entra: { authority: '${tokens.url}', tenant_id: t, client_id: c, client_secret: very-secret }`,
  "azure-openai as the machine": () => `kind: azure-openai, endpoint: '${upstream.url}', entra: {}`,
  "vertex as a service account": () =>
    `kind: vertex, base_url: '${upstream.url}', location: global, credentials: 'env:GCP'`,
  "vertex as the machine": () => `kind: vertex, base_url: '${upstream.url}', project: p, location: global`,
} as const;

function configOf(way: keyof typeof WAYS, more = ""): string {
  return `
providers:
  cloud: { ${WAYS[way]()} }
  other: { kind: openai, base_url: '${upstream.url}/other', api_key: k }
deployments: { d: { provider: cloud, model: model-1, price: { input: 1, output: 2 } } }
routes:
  default: { chain: [d], retries: { attempts: 1 } }
  two: { chain: [d, other/gpt-4o-2024-11-20], retries: { attempts: 1 } }
tenants: { default: { models: { allow: ['*'] } } }
keys: [{ id: test, hash: 'KEYHASH', tenant: default }]
${more}`;
}

const GEMINI = JSON.stringify({
  candidates: [{ content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP", index: 0 }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
});

/** A good answer in the words of whoever was asked. */
function goodAnswer(path: string): string {
  return path.includes(":generateContent") ? GEMINI : chatAnswer("hello");
}

beforeAll(async () => {
  upstream = await startUpstream();
});

afterAll(() => upstream.close());

beforeEach(async () => {
  tokens = await startTokenServer();
  account = testServiceAccount(`${tokens.url}/token`);
  upstream.hits.splice(0);
  upstream.answer((response, { path }) => sendJson(response, 200, JSON.parse(goodAnswer(path))));
});

afterEach(async () => {
  await gateway.close();
  await tokens.close();
});

async function start(way: keyof typeof WAYS, settings = ""): Promise<void> {
  gateway = await startTestGateway({
    forgives: true,
    config: configOf(way).replace("output: 2 }", `output: 2 }${settings}`),
    variables: {
      ...{ GCP: account.json, GCE_METADATA_HOST: tokens.url.slice("http://".length) },
      AZURE_POD_IDENTITY_AUTHORITY_HOST: tokens.url,
    },
  });
}

const ask = (model = "default"): Promise<Response> =>
  gateway.post({ model, messages: [{ role: "user", content: "a" }] });
const bearers = (): unknown[] => upstream.hits.map(({ headers }) => headers.authorization);

describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])("%s", (way) => {
  test("calls that come at once wait for one token, and later ones have it", async () => {
    await start(way);
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask()));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const last = await ask();
    expect(last.status).toBe(200);
    expect(tokens.hits).toHaveLength(1);
    expect(new Set(bearers())).toEqual(new Set(["Bearer token-1"]));
    const row = await gateway.row(last.headers.get("x-request-id") ?? "");
    expect(row.attempts[0]?.credential).toEqual({ name: "cloud", generation: 1, owner: "shared" });
  });

  test("a refused token is replaced, and the call that it failed is made again", async () => {
    await start(way);
    await ask();
    upstream.answer((response, { path, headers }) =>
      headers.authorization === "Bearer token-1"
        ? sendJson(response, 401, { error: { code: 401, message: "expired", status: "UNAUTHENTICATED" } })
        : sendJson(response, 200, JSON.parse(goodAnswer(path))),
    );
    const response = await ask();
    expect(response.status).toBe(200);
    expect(bearers()).toEqual(["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class }) => error_class)).toEqual(["auth_failed", null]);
  });

  test.each([
    ["refuses", 401],
    ["is broken", 500],
    ["says nothing of use", 200],
  ])("one who gives tokens and %s costs the deployment, not the request", async (_, status) => {
    await start(way);
    tokens.answer((__, response) =>
      sendJson(
        response,
        status,
        { error: "invalid_client", error_description: "very-secret" },
        { "metadata-flavor": "Google" },
      ),
    );
    const response = await ask("two");
    expect(response.status).toBe(200);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class, credential }) => [error_class, credential?.name ?? null])).toEqual([
      ["auth_failed", null],
      [null, "other"],
    ]);
    const failed = await ask();
    expect(failed.status).toBe(502);
    const body: unknown = await failed.json();
    expect(at(body, "error", "code")).toBe("all_providers_failed");
    expect(JSON.stringify(body)).not.toContain("very-secret");
    // The back-off: they are not asked again for each call.
    expect(tokens.hits).toHaveLength(1);
  });

  test("a token that takes longer than a connection may is somebody else's: the call moves on, the next one has it", async () => {
    await start(way, ", timeouts: { connect: 100ms }");
    let give = (): void => {};
    tokens.answer(({ headers }, response) => {
      give = () =>
        sendJson(
          response,
          200,
          { access_token: "late", expires_in: 60 },
          headers["metadata-flavor"] ? { "metadata-flavor": "Google" } : {},
        );
    });
    const response = await ask("two");
    expect(response.status).toBe(200);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.attempts.map(({ error_class }) => error_class)).toEqual(["connection_failed", null]);
    give();
    await until("the late token is used", async () => (await ask()).status === 200);
    expect(bearers().at(-1)).toBe("Bearer late");
    expect(tokens.hits).toHaveLength(1);
  });

  test("a client that leaves while a token is on its way leaves nothing behind", async () => {
    await start(way);
    tokens.answer(() => {});
    const leaving = new AbortController();
    const gone = gateway.post(
      { model: "default", messages: [{ role: "user", content: "a" }] },
      { signal: leaving.signal },
    );
    await until("somebody asks for a token", () => tokens.hits.length === 1);
    leaving.abort();
    await expect(gone).rejects.toThrow();
    await until("the row is settled", async () => (await gateway.rows()).some(({ status }) => status === "cancelled"));
    expect(upstream.hits).toEqual([]);
  });
});

describe("a stream that is open", () => {
  test("goes on while the token it began with is refused and replaced, and through a reload", async () => {
    await start("azure-openai with a client's secret");
    let say = (_: string): void => {};
    let end = (): void => {};
    upstream.answer((response, { body, path, headers }) => {
      if (!body.toString().includes('"stream":true')) {
        if (headers.authorization === "Bearer token-1")
          return sendJson(response, 401, { error: { code: "401", message: "x" } });
        return sendJson(response, 200, JSON.parse(goodAnswer(path)));
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      say = (text) => void response.write(chatChunk({ content: text }));
      end = () => void response.end(`${chatChunk({}, "stop")}data: [DONE]\n\n`);
      say("one");
    });
    const stream = await gateway.post({ model: "default", stream: true, messages: [{ role: "user", content: "a" }] });
    expect((await ask()).status).toBe(200);
    expect(bearers()).toEqual(["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
    say("two");
    gateway.writeConfig(configOf("azure-openai with a client's secret", "gateway: { expose: minimal }"));
    expect((await gateway.gateway.reload()).ok).toBe(true);
    say("three");
    end();
    const text = await stream.text();
    expect(text.match(/one|two|three/g)).toEqual(["one", "two", "three"]);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    // What is asked with has not changed: the reload has kept the token.
    expect((await ask()).status).toBe(200);
    expect(tokens.hits).toHaveLength(2);
  });
});

test("tokens of a few seconds are replaced ahead of their end under calls that never fail", async () => {
  tokens.lifeS = 1;
  await start("vertex as a service account");
  const statuses = new Set<number>();
  await until("three tokens have been used", async () => {
    statuses.add((await ask()).status);
    return new Set(bearers()).size >= 3;
  });
  expect([...statuses]).toEqual([200]);
});
