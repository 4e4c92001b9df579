import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshName, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, numberAt } from "./support/loose-json.ts";
import { COHERE_SOURCES } from "./support/matrix-sources.ts";
import { matrixSuite } from "./support/matrix-suite.ts";
import {
  PLACE_HEADER,
  type ReplayServer,
  readTraffic,
  responseBytes,
  startReplayServer,
  type TrafficRecord,
  trafficDir,
} from "./support/replay-server.ts";

matrixSuite(
  "recorded Cohere traffic",
  COHERE_SOURCES, // chat, responses, messages, gemini, gemini-array, completions
  { "cohere-chat": [18, 18, 18, 18, 4, 18] },
);

const dir = trafficDir();
const recordsOf = (file: string): TrafficRecord[] => (dir === null ? [] : readTraffic(dir, file));

describe.skipIf(dir === null)("recorded Cohere embeddings, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  let replay: ReplayServer;
  let gateway: TestGateway;

  beforeAll(async () => {
    replay = await startReplayServer();
    const config = [
      `providers: { co: { kind: cohere, base_url: '${replay.url}', api_key: k, forward_headers: [${PLACE_HEADER}] } }`,
      "deployments: { co: { provider: co, model: embed-v4.0, price: { input: 1, output: 2 } } }",
      "routes: { co: { chain: [co] } }",
      "tenants: { default: { models: { allow: ['*'] } } }",
      "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    ];
    gateway = await startTestGateway({ forgives: true, config: config.join("\n") });
  });

  afterAll(async () => {
    await gateway.close();
    await replay.close();
  });

  test.each(["float", "base64", "gemini"] as const)("reach a client that asks for %s, all four", async (client) => {
    const records = recordsOf("cohere-embed");
    expect(records).toHaveLength(4);
    for (const record of records) {
      const answer = JSON.parse(responseBytes(record).toString("utf8")) as Json;
      const want = listAt(answer, "embeddings", "float") as number[][];
      const place = freshName();
      replay.serve(record, undefined, place);
      const texts = Array.from({ length: Math.max(1, want.length) }, (_, n) => `Grüße ${n}`);
      const response = await ask(client, texts, place);
      const told = (await response.json()) as Json;
      const row = await gateway.row(response.headers.get("x-request-id") ?? "");
      expect(replay.seen(place)?.path).toBe("/v2/embed");
      if (record.response.status !== 200) {
        expect([response.status, row.attempts[0]?.error_class], record.id).toEqual([502, "model_not_found"]);
        continue;
      }
      const sent = JSON.parse(replay.seen(place)?.body ?? "") as Json;
      expect(sent).toEqual({
        model: "embed-v4.0",
        texts,
        input_type: "search_document",
        embedding_types: ["float"],
        truncate: "NONE",
      });
      const rounded = (vectors: number[][]): number[][] => vectors.map((vector) => vector.map(Math.fround));
      expect(rounded(vectorsOf(told)), record.id).toEqual(rounded(want));
      const counted = numberAt(answer, "meta", "billed_units", "input_tokens");
      expect([row.usage.input_tokens, row.cost_state]).toEqual([counted, "known"]);
    }
  });

  function ask(client: "float" | "base64" | "gemini", texts: string[], place: string): Promise<Response> {
    const headers = { [PLACE_HEADER]: place };
    if (client === "gemini") {
      const requests = texts.map((text) => ({ content: { parts: [{ text }] } }));
      return gateway.post({ requests }, { path: "/v1beta/models/co:batchEmbedContents", headers });
    }
    return gateway.post({ model: "co", input: texts, encoding_format: client }, { path: "/v1/embeddings", headers });
  }
});

function vectorsOf(body: Json): number[][] {
  const entries = [...listAt(body, "data"), ...listAt(body, "embeddings")];
  return entries.map((entry) => {
    const vector = at(entry, "embedding") ?? at(entry, "values");
    if (typeof vector !== "string") return vector as number[];
    const bytes = Buffer.from(vector, "base64");
    return Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(place * 4));
  });
}
