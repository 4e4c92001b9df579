import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, textAt } from "./support/loose-json.ts";
import { streamsOf } from "./support/matrix-run.ts";
import { readTraffic, type TrafficRecord, trafficDir } from "./support/replay-server.ts";

/*
 * Recorded requests to the two providers that refuse what they do not know: the simulator's Cohere and Mistral look at every
 * member of what the requests become.
 */

const dir = trafficDir();
const recordsOf = (file: string): TrafficRecord[] => (dir === null ? [] : readTraffic(dir, file));

/** Requests by the client dialect they are in. */
const FILES: Readonly<Partial<Record<ClientName, readonly string[]>>> = {
  chat: ["openai-chat", "anthropic-openai-chat", "mistral-chat", "groq-chat", "openrouter-chat", "xai-chat"],
  responses: ["openai-responses", "azure-responses", "xai-responses"],
  messages: ["anthropic-messages", "vertex-anthropic-messages", "local-messages"],
  gemini: ["gemini-generate", "vertex-generate"],
};
const TARGETS = {
  cohere: ["co", "echo?tag=command-a-03-2025"],
  "cohere-reasoning": ["co", "echo?tag=command-a-reasoning-08-2025"],
  mistral: ["mi", "echo?tag=mistral-medium-2508"],
} as const;

describe.skipIf(dir === null)("recorded requests, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    const targets = Object.entries(TARGETS);
    const config = [
      "providers:",
      "  co: { kind: cohere, base_url: SIMULATOR_HOST, api_key: k }",
      "  mi: { kind: mistral, base_url: SIMULATOR_HOST/mistral/v1, api_key: k }",
      "deployments:",
      ...targets.map(([name, [provider, model]]) => `  ${name}: { provider: ${provider}, model: '${model}' }`),
      "routes:",
      ...targets.map(([name]) => `  ${name}: { chain: [${name}], retries: { attempts: 1 } }`),
      "tenants: { default: { models: { allow: ['*'] } } }",
      "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    ];
    gateway = await startTestGateway({ forgives: true, config: config.join("\n") });
  });

  afterAll(() => gateway.close());

  test.each(Object.keys(FILES) as ClientName[])(
    "of %s are taken, or refused by a field's name",
    async (client) => {
      const asked = (FILES[client] ?? []).flatMap(recordsOf).filter((record) => isWhole(record, client));
      const wrong: string[] = [];
      const refused = new Map<string, number>();
      let taken = 0;
      for (const record of asked) {
        for (const target of Object.keys(TARGETS)) {
          const found = await ask(record, client, target);
          if (found === null) taken++;
          else if (found.startsWith("refused:")) refused.set(found, (refused.get(found) ?? 0) + 1);
          else wrong.push(`${target} ${record.id}: ${found}`);
        }
      }
      expect(wrong).toEqual([]);
      expect(taken / asked.length, JSON.stringify([...refused])).toBeGreaterThan(1.3);
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
    const said = `${response.status} ${textAt(error, "message")} ${text.slice(0, 300)}`;
    const field = textAt(error, "param") || textAt(listAt(error, "details")[0], "metadata", "param");
    const own = /can serve this|answers no tool call/.test(textAt(error, "message"));
    return response.status === 400 && own ? `refused: ${field}` : said;
  }
});

/** A request that was recorded, was good, and refers to nothing that this gateway never gave out. */
function isWhole({ request, response }: TrafficRecord, client: ClientName): boolean {
  const body = request?.body as Json | null | undefined;
  if (!body || response.status !== 200 || typeof body !== "object") return false;
  if (client === "gemini") return /:(?:streamG|g)enerateContent/.test(request.path);
  return !/"(?:previous_response_id": ?"|type": ?"item_reference|conversation": ?")/.test(JSON.stringify(body));
}
