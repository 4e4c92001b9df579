import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { freshName, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { at, type Json, listAt, textAt } from "./support/loose-json.ts";
import { streamsOf } from "./support/matrix-run.ts";
import {
  CHAT_MATRIX,
  GEMINI_SOURCES,
  type MatrixSource,
  MESSAGES_SOURCES,
  matrixConfig,
  RESPONSES_SOURCES,
} from "./support/matrix-sources.ts";
import {
  PLACE_HEADER,
  type ReplayServer,
  readTraffic,
  startReplayServer,
  type TrafficRecord,
  trafficDir,
} from "./support/replay-server.ts";
import { chatBody, geminiBody, messagesBody, responsesBody } from "./support/request-shape.ts";

/* Recorded requests to a deployment of each other dialect: translated into a body that its provider would take, or refused by name. */

const SOURCES = [...MESSAGES_SOURCES, ...GEMINI_SOURCES, ...RESPONSES_SOURCES, ...CHAT_MATRIX];
const TARGETS = ["chat", "responses", "messages", "gemini"] as const;
type Target = (typeof TARGETS)[number];

/** Deployments that stand for the dialects. */
const DEPLOYMENTS: readonly MatrixSource[] = [
  { file: "chat", own: "chat", kind: "openai", preset: null },
  { file: "responses", own: "responses", kind: "openai", preset: null },
  { file: "messages", own: "messages", kind: "anthropic", preset: null },
  { file: "gemini", own: "gemini", kind: "gemini", preset: null },
];
const SHAPES: Record<Target, (body: Json) => void> = {
  chat: chatBody,
  responses: responsesBody,
  messages: messagesBody,
  gemini: geminiBody,
};

/** Requests of each dialect that reach a deployment of each other, in the order of the targets; its own: 0. */
const TRANSLATED: Record<string, number[]> = {};
/** Why the others are refused: the field, whose it is and where to, and how often. */
const REFUSED: Record<string, number> = {};
/** Records that hold no request. */
const UNASKED: Record<string, number> = {};

const dir = trafficDir();
let gateway: TestGateway;
let replay: ReplayServer;

/** What every provider answers here: it is the request that counts. */
const NO: TrafficRecord = {
  ...{ id: "no", provider: "test", api: "test", stream: false, model: null, tags: [] },
  request: { method: "POST", path: "/", headers: {}, body: null },
  response: { status: 400, headers: { "content-type": "application/json" }, body: { error: { message: "no" } } },
} as unknown as TrafficRecord;

interface Case {
  own: ClientName;
  target: Target;
  record: TrafficRecord;
}

interface Outcome {
  wrong?: string;
  refused?: string;
}

async function outcomeOf({ own, target, record }: Case): Promise<Outcome> {
  const place = freshName();
  replay.serve(NO, undefined, place);
  const body = record.request.body as Json;
  const response = await gateway.post(own === "gemini" ? body : { ...body, model: target }, {
    path: DIALECTS[own].path(target, streamsOf(record)),
    headers: { [PLACE_HEADER]: place },
  });
  const answer = (await response.json()) as unknown;
  const upstream = replay.seen(place);
  if (!upstream) {
    const field = fieldOf(answer);
    const clear = response.status === 400 && field !== "" && field !== "model";
    return clear ? { refused: field.replace(/\d+/g, "n") } : { wrong: `${response.status} ${JSON.stringify(answer)}` };
  }
  try {
    const sent = JSON.parse(upstream.body) as Json;
    if (/"gateway"|x_sluicegate/.test(upstream.body)) return { wrong: "something of the gateway's own went upstream" };
    SHAPES[target](sent);
    return {};
  } catch (thrown) {
    return { wrong: String(thrown) };
  }
}

/** The field that a refusal names. */
function fieldOf(answer: unknown): string {
  const error = at(answer, "error");
  const violation = listAt(error, "details").map((detail) => textAt(listAt(detail, "fieldViolations")[0], "field"));
  return textAt(error, "param") || violation.join("");
}

describe.skipIf(dir === null)("recorded requests to other dialects, where SLUICEGATE_TRAFFIC_DIR has them", () => {
  const translated: Record<string, number[]> = {};
  const refused: Record<string, number> = {};
  const unasked: Record<string, number> = {};
  const wrong: string[] = [];

  beforeAll(async () => {
    replay = await startReplayServer();
    gateway = await startTestGateway({ config: matrixConfig(DEPLOYMENTS, replay.url, PLACE_HEADER) });
    const cases: Case[] = [];
    for (const { file, own } of SOURCES) {
      for (const record of dir === null ? [] : readTraffic(dir, file)) {
        if (record.request?.body) for (const target of TARGETS) cases.push({ own, target, record });
        else unasked[file] = (unasked[file] ?? 0) + 1;
      }
    }
    const abroad = cases.filter(({ own, target }) => own !== target);
    for (let from = 0; from < abroad.length; from += 12) {
      await Promise.all(abroad.slice(from, from + 12).map(note));
    }
  }, 60_000);

  async function note(one: Case): Promise<void> {
    const { own, target, record } = one;
    const found = await outcomeOf(one);
    if (found.wrong) wrong.push(`${own} to ${target} ${record.id}: ${found.wrong}`);
    else if (found.refused) {
      const reason = `${own} to ${target}: ${found.refused}`;
      refused[reason] = (refused[reason] ?? 0) + 1;
    } else {
      translated[own] ??= TARGETS.map(() => 0);
      const place = TARGETS.indexOf(target);
      const counts = translated[own];
      counts[place] = (counts[place] ?? 0) + 1;
    }
  }

  afterAll(async () => {
    await gateway.close();
    await replay.close();
  });

  test("each is a body that its provider would take, or refused by the name of a field", () => {
    expect(wrong).toEqual([]);
  });

  test("the table: requests that reach a deployment of another dialect", () => {
    expect(translated).toEqual(TRANSLATED);
  });

  test("the table: refusals by field", () => {
    expect(refused).toEqual(REFUSED);
  });

  test("the table: records without a request", () => {
    expect(unasked).toEqual(UNASKED);
  });
});
