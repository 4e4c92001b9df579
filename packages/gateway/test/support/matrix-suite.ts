import type { Usage } from "@sluicegate/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectedFacts } from "./chat-expected.ts";
import { CHAT_SOURCES } from "./chat-sources.ts";
import { CLIENTS, type ClientName } from "./client-dialects.ts";
import { startTestGateway } from "./gateway.ts";
import { expectedOf } from "./matrix-expected.ts";
import { type Play, playAll, rowsOf, type Stage, streamsOf, wrongWith } from "./matrix-run.ts";
import { type MatrixSource, matrixConfig } from "./matrix-sources.ts";
import { PLACE_HEADER, readTraffic, startReplayServer, type TrafficRecord, trafficDir } from "./replay-server.ts";

/** Records of a file that hold in each client dialect: the table's numbers. */
export type Table = Record<string, Partial<Record<ClientName, number>>>;

/** Every record of `sources` to every client dialect, held against what its bytes say; `table` is how many that has to be. */
export function matrixSuite(
  name: string,
  sources: readonly MatrixSource[],
  table: Table,
  clients: readonly ClientName[] = CLIENTS,
): void {
  const dir = trafficDir();
  const held: Table = {};
  let stage: Stage;

  describe.skipIf(dir === null)(`${name}, where SLUICEGATE_TRAFFIC_DIR has it`, () => {
    beforeAll(async () => {
      const replay = await startReplayServer();
      stage = { replay, gateway: await startTestGateway({ config: matrixConfig(sources, replay.url, PLACE_HEADER) }) };
    });

    afterAll(async () => {
      await stage.gateway.close();
      await stage.replay.close();
    });

    for (const source of sources) {
      const records = dir === null ? [] : readTraffic(dir, source.file);
      test.each(clients)(`${source.file} to %s`, async (client) => {
        const plays = records
          .filter((record) => served(record, client))
          .map((record) => playOf(source, record, client));
        const played = await playAll(stage, plays);
        const rows = await rowsOf(stage, played);
        const wrong = played.flatMap((one) => wrongWith(one, rows.get(one.requestId)) ?? []);
        held[source.file] = { ...held[source.file], [client]: plays.length - wrong.length };
        expect(wrong).toEqual([]);
      });
    }

    test("the table: records that hold, by file and client dialect", () => {
      expect(held).toEqual(table);
    });
  });
}

/** Of the two framings of Gemini's streams, only streams can be asked for in an array. */
function served(record: TrafficRecord, client: ClientName): boolean {
  return client !== "gemini-array" || streamsOf(record);
}

function playOf(source: MatrixSource, record: TrafficRecord, client: ClientName): Play {
  const own = client === source.own || (source.own === "gemini" && client === "gemini-array");
  return {
    record,
    client,
    alias: source.file,
    own,
    expected: expectedOf(record, source.own),
    loose: source.own === "responses",
    ...(source.own === "chat" && { usage: chatUsageOf(source, record) }),
  };
}

/** Chat servers count in ways of their own; what that comes to is known by source. */
function chatUsageOf({ file }: MatrixSource, record: TrafficRecord): Usage | null {
  const chat = CHAT_SOURCES.find((source) => source.file === file);
  return chat && record.response.status === 200 ? expectedFacts(record, chat).usage : null;
}
