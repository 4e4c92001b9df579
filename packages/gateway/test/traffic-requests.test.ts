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
const TRANSLATED: Record<string, number[]> = {
  chat: [0, 331, 330, 338],
  responses: [74, 0, 72, 75],
  messages: [35, 34, 0, 36],
  gemini: [65, 66, 70, 0],
};
/** Why the others are refused: the field, whose it is and where to, and how often. */
const REFUSED: Record<string, number> = {
  "chat to gemini: modalities": 1,
  "chat to gemini: moderation": 4,
  "chat to gemini: search_settings": 1,
  "chat to gemini: tools[n]": 4,
  "chat to gemini: web_search_options": 2,
  "chat to messages: messages.content.input_audio": 3,
  "chat to messages: modalities": 1,
  "chat to messages: moderation": 4,
  "chat to messages: response_format": 4,
  "chat to messages: search_settings": 1,
  "chat to messages: seed": 1,
  "chat to messages: tools[n]": 4,
  "chat to messages: web_search_options": 2,
  "chat to responses: messages.content.input_audio": 3,
  "chat to responses: modalities": 1,
  "chat to responses: moderation": 4,
  "chat to responses: search_settings": 1,
  "chat to responses: stop": 4,
  "chat to responses: tools[n]": 4,
  "chat to responses: web_search_options": 2,
  "gemini to chat: cachedContent": 1,
  "gemini to chat: contents.parts.functionResponse.parts": 2,
  "gemini to chat: contents.parts.inlineData": 12,
  "gemini to chat: contents[n].parts[n]": 9,
  "gemini to chat: generationConfig.topK": 6,
  "gemini to chat: modelArmorConfig": 2,
  "gemini to chat: tools[n].codeExecution": 1,
  "gemini to chat: tools[n].fileSearch": 1,
  "gemini to chat: tools[n].googleSearch": 7,
  "gemini to chat: tools[n].urlContext": 1,
  "gemini to messages: cachedContent": 1,
  "gemini to messages: contents.parts.functionResponse.parts": 2,
  "gemini to messages: contents.parts.inlineData": 10,
  "gemini to messages: contents[n].parts[n]": 6,
  "gemini to messages: generationConfig.responseLogprobs": 2,
  "gemini to messages: generationConfig.seed": 1,
  "gemini to messages: modelArmorConfig": 2,
  "gemini to messages: tools[n].codeExecution": 2,
  "gemini to messages: tools[n].fileSearch": 3,
  "gemini to messages: tools[n].googleSearch": 7,
  "gemini to messages: tools[n].urlContext": 1,
  "gemini to responses: cachedContent": 1,
  "gemini to responses: contents.parts.inlineData": 12,
  "gemini to responses: contents[n].parts[n]": 9,
  "gemini to responses: generationConfig.stopSequences": 2,
  "gemini to responses: generationConfig.topK": 5,
  "gemini to responses: modelArmorConfig": 2,
  "gemini to responses: tools[n].codeExecution": 1,
  "gemini to responses: tools[n].fileSearch": 1,
  "gemini to responses: tools[n].googleSearch": 7,
  "gemini to responses: tools[n].urlContext": 1,
  "messages to chat: mcp_servers": 1,
  "messages to chat: messages.content.image": 1,
  "messages to chat: messages[n].content[n]": 8,
  "messages to chat: tools[n]": 16,
  "messages to chat: top_k": 1,
  "messages to gemini: container": 2,
  "messages to gemini: mcp_servers": 2,
  "messages to gemini: messages.content.image": 1,
  "messages to gemini: tools[n]": 21,
  "messages to responses: mcp_servers": 1,
  "messages to responses: messages.content.image": 1,
  "messages to responses: messages[n].content[n]": 8,
  "messages to responses: stop_sequences": 2,
  "messages to responses: tools[n]": 16,
  "responses to chat: input.content.input_file": 1,
  "responses to chat: input.output.input_image": 1,
  "responses to chat: moderation": 3,
  "responses to chat: previous_response_id": 1,
  "responses to chat: tools[n]": 12,
  "responses to gemini: input.output.input_image": 1,
  "responses to gemini: moderation": 3,
  "responses to gemini: previous_response_id": 1,
  "responses to gemini: tools[n]": 12,
  "responses to messages: input.output.input_image": 1,
  "responses to messages: moderation": 3,
  "responses to messages: previous_response_id": 1,
  "responses to messages: text.format": 1,
  "responses to messages: tools[n]": 12,
  "responses to messages: top_logprobs": 2,
};
/** Records that hold no request. */
const UNASKED: Record<string, number> = {
  "alibaba-chat": 6,
  "anthropic-messages": 7,
  "anthropic-openai-chat": 1,
  "azure-chat": 2,
  "azure-responses": 16,
  "cerebras-chat": 3,
  "deepseek-chat": 7,
  "gemini-generate": 3,
  "groq-chat": 4,
  "local-responses": 4,
  "mistral-chat": 6,
  "moonshot-chat": 4,
  "openai-chat": 1,
  "openai-responses": 16,
  "perplexity-chat": 2,
  "vertex-generate": 1,
  "xai-chat": 4,
  "xai-responses": 9,
};

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
    gateway = await startTestGateway({ forgives: true, config: matrixConfig(DEPLOYMENTS, replay.url, PLACE_HEADER) });
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
