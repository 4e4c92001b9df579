import type { Usage } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectedFacts } from "./chat-expected.ts";
import { CHAT_SOURCES } from "./chat-sources.ts";
import { CLIENTS, type ClientName } from "./client-dialects.ts";
import { startTestGateway } from "./gateway.ts";
import type { Json } from "./loose-json.ts";
import { expectedOf } from "./matrix-expected.ts";
import { type Play, playAll, rowsOf, type Stage, streamsOf, wrongWith } from "./matrix-run.ts";
import { type MatrixSource, matrixConfig, shapeSource } from "./matrix-sources.ts";
import { PLACE_HEADER, readTraffic, startReplayServer, type TrafficRecord, trafficDir } from "./replay-server.ts";

/** Records of a file that hold in each client dialect, in the order of the suite's clients: the table's numbers. */
export type Table = Readonly<Record<string, readonly number[]>>;

/** Every record of `sources` to every client dialect, held against what its bytes say; `table` is how many that has to be. */
export function matrixSuite(
  name: string,
  sources: readonly MatrixSource[],
  table: Table,
  clients: readonly ClientName[] = CLIENTS,
): void {
  const dir = trafficDir();
  const held = new Map<string, number>();
  const wrong = new Map<string, string[]>();

  describe.skipIf(dir === null)(`${name}, where SLUICEGATE_TRAFFIC_DIR has it`, () => {
    const plays = dir === null ? [] : playsOf(dir, sources, clients);
    const lines = [...new Set(plays.map(({ line }) => line))];
    let stage: Stage;

    beforeAll(async () => {
      const replay = await startReplayServer();
      stage = {
        replay,
        gateway: await startTestGateway({ forgives: true, config: matrixConfig(sources, replay.url, PLACE_HEADER) }),
      };
      const played = await playAll(stage, plays);
      const rows = await rowsOf(stage, played);
      for (const one of played) {
        const cell = `${one.play.line} ${one.play.client}`;
        const found = wrongWith(one, rows.get(one.requestId));
        if (found !== null) wrong.set(cell, [...(wrong.get(cell) ?? []), found]);
        else held.set(cell, (held.get(cell) ?? 0) + 1);
      }
    }, 60_000);

    afterAll(async () => {
      await stage.gateway.close();
      await stage.replay.close();
    });

    for (const line of lines) {
      test.each(clients)(`${line} to %s`, (client) => {
        expect(wrong.get(`${line} ${client}`) ?? []).toEqual([]);
      });
    }

    test("the table: records that hold, by file and client dialect", () => {
      const counts = (line: string): number[] => clients.map((client) => held.get(`${line} ${client}`) ?? 0);
      expect(Object.fromEntries(lines.map((line) => [line, counts(line)]))).toEqual(table);
    });
  });
}

function playsOf(dir: string, sources: readonly MatrixSource[], clients: readonly ClientName[]): Play[] {
  const recorded = sources.flatMap((source) => readTraffic(dir, source.file).map((record) => ({ source, record })));
  const shapes = readTraffic(dir, "error-shapes").flatMap((record) => {
    const source = shapeSource(sources, record.provider, record.api);
    // Some shapes are told in words alone.
    return source && record.response.body !== null ? [{ source, record }] : [];
  });
  return [...recorded, ...shapes].flatMap(({ source, record }) =>
    clients.filter((client) => served(record, client)).map((client) => playOf(source, record, client)),
  );
}

/** Of the two framings of Gemini's streams, only streams can be asked for in an array. */
function served(record: TrafficRecord, client: ClientName): boolean {
  return client !== "gemini-array" || streamsOf(record);
}

function playOf(source: MatrixSource, record: TrafficRecord, client: ClientName): Play {
  const own = client === source.own || (source.own === "gemini" && client === "gemini-array");
  const body = own ? recordedBody(source, record) : null;
  return {
    record,
    client,
    line: record.id.startsWith("shape:") ? "error-shapes" : source.file,
    alias: source.file,
    own,
    expected: expectedOf(record, source.own),
    loose: source.own === "responses",
    ...(body && { body }),
    source,
    ...(source.own === "chat" && { usage: chatUsageOf(source, record) }),
  };
}

/** The recorded request to the alias; null where none was recorded, or it holds ids that this gateway has not given out. */
function recordedBody({ file, own }: MatrixSource, record: TrafficRecord): Json | null {
  const body = record.request?.body as Json | null | undefined;
  if (!body || /"(?:previous_response_id": ?"|type": ?"item_reference)/.test(JSON.stringify(body))) return null;
  return own === "gemini" ? body : { ...body, model: file };
}

/** Chat servers count in ways of their own; what that comes to is known by source. */
function chatUsageOf({ file }: MatrixSource, record: TrafficRecord): Usage | null {
  const chat = CHAT_SOURCES.find((source) => source.file === file);
  return chat && record.response.status === 200 ? expectedFacts(record, chat).usage : null;
}
