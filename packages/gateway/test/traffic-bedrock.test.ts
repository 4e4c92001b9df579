import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { freshName, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, textAt } from "./support/loose-json.ts";
import { streamsOf } from "./support/matrix-run.ts";
import { BEDROCK_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";
import {
  PLACE_HEADER,
  type ReplayServer,
  readTraffic,
  startReplayServer,
  type TrafficRecord,
  trafficDir,
} from "./support/replay-server.ts";

matrixSuite(
  "recorded Bedrock traffic",
  BEDROCK_SOURCES, // chat, responses, messages, gemini, gemini-array, completions
  { "bedrock-converse": [60, 60, 60, 60, 11, 60], "error-shapes": [1, 1, 1, 1, 0, 1] },
);

const dir = trafficDir();
const recordsOf = (file: string): TrafficRecord[] => (dir === null ? [] : readTraffic(dir, file));
const ACCESS = [
  "tenants: { default: { models: { allow: ['*'] } } }",
  "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
];

describe.skipIf(dir === null)("recorded Bedrock embeddings, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const records = recordsOf("bedrock-invoke-embed");
  const models = [...new Set(records.map(modelOf))];
  let replay: ReplayServer;
  let gateway: TestGateway;

  beforeAll(async () => {
    replay = await startReplayServer();
    const config = [
      `providers: { aws: { kind: bedrock, base_url: '${replay.url}', api_key: k, forward_headers: [${PLACE_HEADER}] } }`,
      "deployments:",
      ...models.map((model, i) => `  m${i}: { provider: aws, model: '${model}', price: { input: 1, output: 2 } }`),
      "routes:",
      ...models.map((_, i) => `  m${i}: { chain: [m${i}] }`),
      ...ACCESS,
    ];
    gateway = await startTestGateway({ forgives: true, config: config.join("\n") });
  });

  afterAll(async () => {
    await gateway.close();
    await replay.close();
  });

  test.each(["openai", "gemini"] as const)("reach a client of %s, all fourteen", async (client) => {
    expect(records).toHaveLength(14);
    const ask = async (record: TrafficRecord): Promise<void> => {
      const place = freshName();
      replay.serve(record, undefined, place);
      const alias = `m${models.indexOf(modelOf(record))}`;
      const openai = client === "openai";
      const path = openai ? "/v1/embeddings" : `/v1beta/models/${alias}:embedContent`;
      const body = openai ? { model: alias, input: "Grüße" } : { content: { parts: [{ text: "Grüße" }] } };
      const response = await gateway.post(body, { path, headers: { [PLACE_HEADER]: place } });
      const answer = await response.json();
      const vector = openai ? at(answer, "data", 0, "embedding") : at(answer, "embedding", "values");
      expect(vector, record.id).toEqual(vectorOf(record));
      expect(replay.seen(place)?.path).toBe(`/model/${encodeURIComponent(modelOf(record))}/invoke`);
      const row = await gateway.row(response.headers.get("x-request-id") ?? "");
      const counted = Number(record.response.headers["x-amzn-bedrock-input-token-count"]);
      expect([row.usage.input_tokens, row.cost_state]).toEqual([counted, "known"]);
      if (openai) expect(at(answer, "usage", "prompt_tokens")).toBe(counted);
    };
    await Promise.all(records.map(ask));
  });
});

function modelOf({ request }: TrafficRecord): string {
  return decodeURIComponent(request.path.split("/")[2] ?? "");
}

/** Titan's one vector, Cohere's list of them by itself or by type, Nova's list of objects. */
function vectorOf({ response: { body } }: TrafficRecord): unknown {
  const [first] = [at(body, "embeddings", "float"), at(body, "embeddings")].filter(Array.isArray).flat();
  return at(body, "embedding") ?? at(first, "embedding") ?? first;
}

/** Requests by the client dialect they are in; the simulator's Bedrock looks at all of what they become. */
const FILES: Readonly<Partial<Record<ClientName, readonly string[]>>> = {
  chat: ["openai-chat", "anthropic-openai-chat", "mistral-chat", "groq-chat", "openrouter-chat"],
  responses: ["openai-responses", "azure-responses", "xai-responses"],
  messages: ["anthropic-messages", "vertex-anthropic-messages", "local-messages"],
  gemini: ["gemini-generate", "vertex-generate"],
};

describe.skipIf(dir === null)("recorded requests to Bedrock, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const TARGETS = {
    claude: "echo?tag=us.anthropic.claude-haiku-4-5-20251001-v1:0",
    nova: "echo?tag=us.amazon.nova-2-lite-v1:0",
    any: "echo",
  };
  let gateway: TestGateway;

  beforeAll(async () => {
    const config = [
      "providers: { aws: { kind: bedrock, base_url: SIMULATOR_HOST, api_key: k } }",
      "deployments:",
      ...Object.entries(TARGETS).map(([name, model]) => `  ${name}: { provider: aws, model: '${model}' }`),
      "routes:",
      ...Object.keys(TARGETS).map((name) => `  ${name}: { chain: [${name}], retries: { attempts: 1 } }`),
      ...ACCESS,
    ];
    gateway = await startTestGateway({ forgives: true, config: config.join("\n") });
  });

  afterAll(() => gateway.close());

  test.each(Object.keys(FILES) as ClientName[])(
    "of %s are taken, or refused by a field's name",
    async (client) => {
      const asked = (FILES[client] ?? [])
        .flatMap((file) => recordsOf(file))
        .filter((record) => isWhole(record, client));
      const wrong: string[] = [];
      let taken = 0;
      for (const record of asked) {
        for (const target of Object.keys(TARGETS)) {
          // What Anthropic signed, Claude takes; the simulator knows only its own hand.
          if (target === "claude" && /"signature":|redacted_thinking/.test(JSON.stringify(record.request.body)))
            continue;
          const found = await ask(record, client, target);
          if (found === null) taken++;
          else if (!found.startsWith("refused:")) wrong.push(`${target} ${record.id}: ${found}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(taken / asked.length).toBeGreaterThan(1.4);
    },
    60_000,
  );

  async function ask(record: TrafficRecord, client: ClientName, alias: string): Promise<string | null> {
    const stream = streamsOf(record);
    const given = record.request.body as Json;
    const body = client === "gemini" ? given : { ...given, model: alias };
    const headers = client === "messages" ? { "anthropic-version": "2023-06-01" } : {};
    const response = await gateway.post(body, { path: DIALECTS[client].path(alias, stream), headers });
    const text = await response.text();
    if (response.status === 200) return null;
    const error = at(JSON.parse(text), "error");
    const said = `${response.status} ${textAt(error, "message")}`;
    const field = textAt(error, "param") || textAt(listAt(error, "details")[0], "metadata", "param");
    return response.status === 400 && !/Value at|ContentBlock|provider aws refused/.test(said)
      ? `refused: ${field}`
      : said;
  }
});

/** A request that was recorded, was good, and refers to nothing that this gateway never gave out. */
function isWhole({ request, response }: TrafficRecord, client: ClientName): boolean {
  const body = request?.body as Json | null | undefined;
  if (!body || response.status !== 200 || typeof body !== "object") return false;
  if (client === "gemini") return /:(?:streamG|g)enerateContent/.test(request.path);
  return !/"(?:previous_response_id": ?"|type": ?"item_reference|conversation": ?")/.test(JSON.stringify(body));
}
