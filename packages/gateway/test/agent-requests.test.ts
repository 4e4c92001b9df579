import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AGENT_FORMS, type AgentForm, RESULT } from "./support/agent-forms.ts";
import { DIALECTS } from "./support/client-dialects.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { type Json, listAt, payloadsOf } from "./support/loose-json.ts";
import { assembled } from "./support/read-messages.ts";

const SAYS = "It has run.";
/** Protocols by their word in a deployment's `api`; only the second knows free-text tools for the model given. */
const APIS = {
  chat: { provider: "openai", model: "gpt-4.1", free: false },
  responses: { provider: "openai", model: "gpt-4.1", free: true },
  messages: { provider: "anthropic", model: "claude-sonnet-4-5", free: false },
  generate: { provider: "gemini", model: "gemini-2.5-pro", free: false },
} as const;
type Api = keyof typeof APIS;

/** The simulator's Responses half runs no searches for tools. */
const CASES = (Object.keys(APIS) as Api[]).flatMap((api) =>
  AGENT_FORMS.flatMap((form, index) =>
    api === "responses" && form.call["type"] === "tool_search_call" ? [] : [{ api, form, alias: `a${index}-${api}` }],
  ),
);

describe("requests of coding agents, on a deployment of each protocol", () => {
  let gateway: TestGateway;
  const asked: Asked[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway({ config: config(), simulator: { strict: true } });
  });
  afterAll(() => gateway.close());

  test.each(CASES)("$form.name on $api", async ({ form, alias }) => {
    const first: Json = form.dialect === "gemini" ? form.first : { model: alias, ...form.first };
    const called = await ask(gateway, form, alias, first, asked);
    expect(callsIn(form, called)).toEqual([expect.objectContaining(form.call)]);
    const said = await ask(gateway, form, alias, form.next(first, called), asked);
    expect(DIALECTS[form.dialect].read(Buffer.from(said), true).choices[0]).toMatchObject({ text: SAYS, calls: [] });
    const told = JSON.stringify(gateway.simulator.requests().recent.at(-1)?.body);
    expect(told).toContain(RESULT);
    if (form.tells !== undefined) expect(told).toContain(form.tells);
  });

  test("every one of them is in the ledger as a success", async () => {
    await gateway.row(asked.at(-1)?.id ?? "");
    const rows = new Map((await gateway.rows()).map((row) => [row.request_id, row]));
    for (const { id, dialect } of asked) expect(rows.get(id)).toMatchObject({ status: "ok", dialect, attempts: [{}] });
    expect(asked).toHaveLength(2 * CASES.length);
  });
});

interface Asked {
  id: string;
  dialect: string;
}

/** The stream that the gateway answers with, checked for its order. */
async function ask(gateway: TestGateway, form: AgentForm, alias: string, body: Json, asked: Asked[]): Promise<string> {
  const dialect = DIALECTS[form.dialect];
  const path = `${dialect.path(alias, true)}${form.query ?? ""}`;
  const response = await gateway.post(body, {
    path,
    headers: { "x-sluicegate-metadata": "off", ...form.headers },
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  dialect.check(text, true);
  asked.push({ id: response.headers.get("x-request-id") ?? "", dialect: dialect.protocol });
  return text;
}

/** The calls as they stand in a stream, in the dialect's own words. */
function callsIn({ dialect }: AgentForm, text: string): Json[] {
  const events = payloadsOf(text);
  if (dialect === "responses")
    return (listAt(events.at(-1), "response", "output") as Json[]).filter((item) =>
      String(item["type"]).endsWith("_call"),
    );
  if (dialect === "messages")
    return (listAt(assembled(events), "content") as Json[]).filter((block) => block["type"] === "tool_use");
  if (dialect === "gemini")
    return events
      .flatMap((event) => listAt(event, "candidates", 0, "content", "parts") as Json[])
      .flatMap((part) => (part["functionCall"] as Json | undefined) ?? []);
  const said = DIALECTS.chat.read(Buffer.from(text), true).choices[0];
  return (said?.calls ?? []).map(({ name, arguments: args }) => ({
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
}

function config(): string {
  const keyed = (kind: string, base_url: string) => ({ kind, base_url, api_key: "any" });
  const deployments = CASES.map(({ api, form, alias }) => {
    const { provider, model, free } = APIS[api];
    const { names, input } = form.tool;
    const args = typeof input !== "string" ? JSON.stringify(input) : free ? input : JSON.stringify({ input });
    const query = new URLSearchParams({ as: "tool", call: names.join(), args, says: SAYS });
    return [alias, { provider, api, model: `${model}?${query}` }];
  });
  return JSON.stringify({
    providers: {
      openai: keyed("openai", "SIMULATOR"),
      anthropic: keyed("anthropic", "SIMULATOR_HOST"),
      gemini: keyed("gemini", "SIMULATOR_HOST"),
    },
    deployments: Object.fromEntries(deployments),
    routes: Object.fromEntries(CASES.map(({ alias }) => [alias, { chain: [alias] }])),
    tenants: { default: { models: { allow: ["*"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
  });
}
