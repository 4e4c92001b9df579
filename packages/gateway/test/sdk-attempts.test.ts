import Anthropic, { APIError as AnthropicError } from "@anthropic-ai/sdk";
import OpenAI, { APIError as OpenAIError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { refusal } from "./support/sdk-gateway.ts";
import { until } from "./support/until.ts";

/*
 * The official SDKs with their own two retries, behind three deployments that all fail: what the gateway has tried in vain is
 * not tried again by them, and one request costs six provider calls at most (SPEC RES-5).
 */

/** What each chain's deployments do, and the provider calls that one request to it costs. */
const CHAINS = {
  limited: { models: ["error?status=429", "error?status=429", "error?status=429"], status: 429, calls: 4 },
  patient: {
    ...{ models: ["error?status=429&retry_after=70", "error?status=429&retry_after=80"] },
    ...{ status: 429, calls: 2 },
  },
  broken: { models: ["error", "error", "error"], status: 502, calls: 6 },
  busy: { models: ["error?status=503", "error?status=503", "error?status=503"], status: 503, calls: 4 },
  mixed: { models: ["error", "error?status=503", "error?status=429"], status: 429, calls: 5 },
  silent: { models: ["empty", "reset", "html"], status: 502, calls: 6 },
} as const;
type ChainName = keyof typeof CHAINS;
const NAMES = Object.keys(CHAINS) as ChainName[];

/** One SDK, asked for a whole answer or for a stream. */
interface Client {
  name: string;
  /** Asks with the SDK as it comes; `fetch` is what it asks by. */
  ask(alias: string, by: typeof fetch): Promise<unknown>;
  /** The status of an error of its own; undefined for any other. */
  statusOf(thrown: unknown): number | undefined;
}

const MESSAGES = [{ role: "user" as const, content: "hello" }];

const CLIENTS = [false, true].flatMap((stream): Client[] => [
  {
    name: `openai${stream ? "-stream" : ""}`,
    async ask(model, by) {
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: CLIENT_KEY, fetch: by });
      return client.chat.completions.create({ model, messages: MESSAGES, stream });
    },
    statusOf: (thrown) => (thrown instanceof OpenAIError ? thrown.status : undefined),
  },
  {
    name: `anthropic${stream ? "-stream" : ""}`,
    async ask(model, by) {
      const client = new Anthropic({ baseURL: gateway.url, apiKey: CLIENT_KEY, fetch: by });
      return client.messages.create({ model, messages: MESSAGES, max_tokens: 100, stream });
    },
    statusOf: (thrown) => (thrown instanceof AnthropicError ? thrown.status : undefined),
  },
]);

let gateway: TestGateway;

beforeAll(async () => {
  const deployments: Record<string, unknown> = {};
  const routes: Record<string, unknown> = {};
  const deploy = (name: string, model: string): string => {
    deployments[name] = { provider: "sim", model: `${model}${model.includes("?") ? "&" : "?"}tag=${name}` };
    return name;
  };
  for (const { name } of CLIENTS) {
    for (const chain of NAMES) {
      const alias = `${chain}-${name}`;
      const models = CHAINS[chain].models.map((model, i) => deploy(`${alias}.${i}`, model));
      routes[alias] = { chain: models, timeouts: { hop: "30s", total: "30s" } };
    }
    const alone = deploy(`asks-${name}`, "error?status=429&retry_after=3");
    routes[alone] = { chain: [alone], timeouts: { hop: "2s", total: "2s" } };
  }
  const back = ["error?latency=300ms", "error?status=429&retry_after=1", "error", "error?status=429"];
  const retries = { attempts: 2, base: "1ms", cap: "1ms", budget: 1 };
  routes["back"] = { chain: back.map((model, i) => deploy(`back.${i}`, model)), retries };
  routes["cool"] = { chain: ["back.1"], retries: { attempts: 1 } };
  gateway = await startTestGateway({
    config: JSON.stringify({
      providers: { sim: { kind: "simulator", base_url: "SIMULATOR" } },
      ...{ deployments, routes },
      tenants: { default: { models: { allow: ["*"] } } },
      keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
    }),
  });
});
afterAll(() => gateway.close());

/** Provider calls for the deployments of an alias, ALIAS.0 and so on, or for one of them. */
function callsFor(alias: string): number {
  const models = Object.entries(gateway.simulator.requests().by_model);
  const own = (model: string): boolean => `${model}.`.includes(`tag=${alias}.`);
  return models.reduce((sum, [model, count]) => sum + (own(model) ? count : 0), 0);
}

/** What one request of an SDK comes to: the status it raises, and how often it has asked the gateway. */
async function outcomeOf({ ask, statusOf }: Client, alias: string): Promise<{ status: number; asked: number }> {
  let asked = 0;
  const thrown = await refusal(
    ask(alias, (...request) => {
      asked++;
      return fetch(...request);
    }),
  );
  const status = statusOf(thrown);
  if (status === undefined) throw thrown;
  return { status, asked };
}

/** Anthropic's own status for "too busy". */
const inDialect = (client: Client, status: number): number =>
  status === 503 && client.name.startsWith("anthropic") ? 529 : status;

const CASES = CLIENTS.flatMap((client) => NAMES.map((chain) => ({ client, chain, name: client.name })));

describe.concurrent("a request through an SDK with its own retries", () => {
  test.each(CASES)("costs what the gateway spends on it: $name, $chain", async ({ client, chain }) => {
    const alias = `${chain}-${client.name}`;
    const { status, calls } = CHAINS[chain];
    expect(await outcomeOf(client, alias)).toEqual({ status: inDialect(client, status), asked: 1 });
    expect(callsFor(alias)).toBe(calls);
    expect(calls).toBeLessThanOrEqual(6);
  });

  test.each(CLIENTS)("is made again by it where the gateway had no time to: $name", async (client) => {
    expect(await outcomeOf(client, `asks-${client.name}`)).toEqual({ status: 429, asked: 3 });
    expect(callsFor(`asks-${client.name}`)).toBe(3);
  });
});

test("a request that comes back to a deployment it had passed over does not begin anew behind it", async () => {
  const asked = gateway.post({ model: "back", messages: MESSAGES });
  await until("the first of the chain to be called", () => callsFor("back.0") > 0);
  // While the request is there, another one finds the second of the chain limited.
  await gateway.post({ model: "cool", messages: MESSAGES });
  const row = await gateway.row((await asked).headers.get("x-request-id") ?? "");
  const tried = row.attempts.map(({ deployment }) => deployment);
  for (const name of ["back.0", "back.1", "back.2", "back.3"])
    expect(tried.filter((deployment) => deployment === name).length).toBeLessThanOrEqual(2);
});
