import type { RequestRecord } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UPSTREAM_MODEL } from "./support/chat-sources.ts";
import { freshName, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, numberAt } from "./support/loose-json.ts";
import { expectedOf, toldOf, wrongError } from "./support/matrix-expected.ts";
import { matrixConfig } from "./support/matrix-sources.ts";
import {
  PLACE_HEADER,
  type ReplayServer,
  readTraffic,
  responseBytes,
  startReplayServer,
  type TrafficRecord,
  trafficDir,
} from "./support/replay-server.ts";

/** How a client asks for vectors. */
const CLIENTS = ["openai-float", "openai-base64", "gemini-batch", "gemini-one"] as const;
type Client = (typeof CLIENTS)[number];

/** Files, and the dialect they are of. */
const FILES = { "openai-embeddings": "openai", "voyage-embeddings": "openai", "gemini-embed": "gemini" } as const;
type File = keyof typeof FILES;

/** Records that hold, in the order of the clients; `gemini-one` asks for one vector, so that only records of one count. */
const TABLE: Record<File, number[]> = {
  "openai-embeddings": [16, 16, 16, 12],
  "voyage-embeddings": [6, 6, 6, 4],
  "gemini-embed": [11, 11, 11, 10],
};

/** Embeddings that no client dialect of this build asks for in these words. */
const OTHERS: Record<string, string> = {
  "vertex-embed": "Vertex's :predict, and :embedContent at a path with project and location: played in vertex.test.ts",
};

const dir = trafficDir();
const recordsOf = (file: string): TrafficRecord[] => (dir === null ? [] : readTraffic(dir, file));

/** Vectors as float32, whichever coding they came in. */
function vectorsOf(body: unknown): number[][] {
  const list = at(body, "data") ?? at(body, "embeddings") ?? [at(body, "embedding")];
  return (list as unknown[]).map((entry) => {
    const vector = at(entry, "embedding") ?? at(entry, "values");
    if (typeof vector !== "string") return (vector as number[]).map(Math.fround);
    const bytes = Buffer.from(vector, "base64");
    return Array.from({ length: bytes.length / 4 }, (_, place) => bytes.readFloatLE(place * 4));
  });
}

/** Input tokens, or null where they are not counted. Voyage reports the total alone. */
function tokensOf(body: unknown): number | null {
  const usage = at(body, "usage");
  const told = at(usage, "prompt_tokens") ?? at(usage, "total_tokens") ?? at(body, "usageMetadata", "promptTokenCount");
  return typeof told === "number" ? told : null;
}

function requestOf(client: Client, file: string, count: number): { path: string; body: Json } {
  const texts = Array.from({ length: count }, (_, place) => `Grüße ${place}`);
  const content = (text: string | undefined): Json => ({ content: { parts: [{ text }] } });
  switch (client) {
    case "openai-float":
      return { path: "/v1/embeddings", body: { model: file, input: texts } };
    case "openai-base64":
      return { path: "/v1/embeddings", body: { model: file, input: texts, encoding_format: "base64" } };
    case "gemini-batch":
      return { path: `/v1beta/models/${file}:batchEmbedContents`, body: { requests: texts.map(content) } };
    case "gemini-one":
      return { path: `/v1beta/models/${file}:embedContent`, body: content(texts[0]) };
  }
}

/** The shape of an answer in the client's dialect; null: right. */
function wrongShape(client: Client, body: unknown): string | null {
  if (client === "gemini-one") return Array.isArray(at(body, "embedding", "values")) ? null : "no embedding";
  if (client === "gemini-batch") return listAt(body, "embeddings").length > 0 ? null : "no embeddings";
  const right = at(body, "object") === "list" && numberAt(body, "usage", "total_tokens") >= 0;
  const places = listAt(body, "data").every((entry, place) => at(entry, "index") === place);
  const coded = listAt(body, "data").every(
    (entry) => (typeof at(entry, "embedding") === "string") === (client === "openai-base64"),
  );
  return right && places && coded ? null : "not a list of embeddings in the coding that was asked for";
}

describe.skipIf(dir === null)("recorded embeddings, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const held = new Map<string, number>();
  let gateway: TestGateway;
  let replay: ReplayServer;

  beforeAll(async () => {
    replay = await startReplayServer();
    const sources = Object.entries(FILES).map(([file, kind]) => ({ file, kind, own: "chat" as const, preset: null }));
    const config = matrixConfig(sources, replay.url, PLACE_HEADER).replaceAll(", api: chat", "");
    gateway = await startTestGateway({ forgives: true, config });
  });

  afterAll(async () => {
    await gateway.close();
    await replay.close();
  });

  async function wrongWith(record: TrafficRecord, file: File, client: Client): Promise<string | null> {
    const recorded = JSON.parse(responseBytes(record).toString("utf8")) as unknown;
    const good = record.response.status === 200;
    const { path, body } = requestOf(client, file, good ? vectorsOf(recorded).length : 1);
    const place = freshName();
    replay.serve(record, undefined, place);
    const headers = { "x-sluicegate-metadata": "off", [PLACE_HEADER]: place };
    const response = await gateway.post(body, { path, headers });
    const text = await response.text();
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    const own = client.startsWith(FILES[file]);
    return good
      ? wrongAnswer({ client, own, text, status: response.status, row }, record, recorded)
      : wrongFailure(client, own, response.status, text, row, record);
  }

  for (const file of Object.keys(FILES) as File[]) {
    test.each(CLIENTS)(`${file} to %s`, async (client) => {
      const records = recordsOf(file).filter(
        (record) =>
          client !== "gemini-one" ||
          record.response.status !== 200 ||
          vectorsOf(JSON.parse(responseBytes(record).toString())).length === 1,
      );
      const found = await Promise.all(
        records.map(async (record) => {
          const wrong = await wrongWith(record, file, client);
          return wrong && `${record.id}: ${wrong}`;
        }),
      );
      const wrong = found.filter((one) => one !== null);
      held.set(`${file} ${client}`, records.length - wrong.length);
      expect(wrong).toEqual([]);
    });
  }

  test("the table: records that hold, by file and client", () => {
    const files = Object.keys(FILES);
    const lines = files.map((file) => [file, CLIENTS.map((client) => held.get(`${file} ${client}`))]);
    expect(Object.fromEntries(lines)).toEqual(TABLE);
  });

  test.each(Object.entries(OTHERS))("left out: %s: %s", (file) => {
    expect(recordsOf(file).every(({ request }) => /\/(?:publishers|projects)\//.test(request.path))).toBe(true);
  });
});

interface Answered {
  client: Client;
  own: boolean;
  text: string;
  status: number;
  row: RequestRecord;
}

function wrongAnswer(
  { client, own, text, status, row }: Answered,
  record: TrafficRecord,
  recorded: unknown,
): string | null {
  if (status !== 200) return `status ${status}: ${text.slice(0, 200)}`;
  const tokens = tokensOf(recorded);
  if (tokens === null ? row.cost_state !== "estimated" : row.usage.input_tokens !== tokens)
    return `row: ${row.usage.input_tokens} tokens (${row.cost_state}) for ${tokens}`;
  // A server that does not code as it was asked: its vectors are coded here.
  const recoded = client === "openai-base64" && typeof at(recorded, "data", 0, "embedding") !== "string";
  if (own && !recoded) return text === responseBytes(record).toString("utf8") ? null : "other bytes";
  const body = JSON.parse(text) as unknown;
  if (JSON.stringify(vectorsOf(body)) !== JSON.stringify(vectorsOf(recorded))) return "other vectors";
  if ((tokensOf(body) ?? 0) !== (tokens ?? 0)) return `${tokensOf(body)} tokens for ${tokens}`;
  const model = at(recorded, "model") ?? UPSTREAM_MODEL;
  if (client.startsWith("openai") && at(body, "model") !== model) return `model ${at(body, "model")}`;
  return wrongShape(client, body);
}

function wrongFailure(
  client: Client,
  own: boolean,
  status: number,
  text: string,
  row: RequestRecord,
  record: TrafficRecord,
): string | null {
  const expected = expectedOf(record, "chat");
  if (expected.kind !== "failure") return "a failure was expected";
  const failed = row.attempts[0]?.error_class;
  if (failed !== expected.class) return `class ${failed} for ${expected.class}`;
  if (own && expected.class === "bad_request")
    return text === responseBytes(record).toString("utf8") ? null : "not word for word";
  const dialect = client.startsWith("gemini") ? "gemini" : "chat";
  return wrongError(dialect, status, JSON.parse(text), toldOf(expected.class, record.response.status));
}
