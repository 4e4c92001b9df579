import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectedFacts } from "./support/chat-expected.ts";
import { CHAT_SOURCES } from "./support/chat-sources.ts";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import { CLIENT_KEY, freshName, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { wrongReply } from "./support/matrix-compare.ts";
import { expectedOf } from "./support/matrix-expected.ts";
import { asEvents } from "./support/matrix-run.ts";
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
import type { Reply } from "./support/said.ts";

/* Recorded answers as the official SDKs put them together: of each file, one record for each kind of thing it says. */

const SOURCES = [...MESSAGES_SOURCES, ...GEMINI_SOURCES, ...RESPONSES_SOURCES, ...CHAT_MATRIX];
const SDKS = ["chat", "responses", "messages", "gemini"] as const satisfies readonly ClientName[];
/** What makes a record worth another look. */
const KINDS =
  /^(?:tool-call|parallel-tool-call|reasoning|signature|encrypted-reasoning|redacted-thinking|refusal|citations|server-tool|logprobs|finish:.*)$/;
/** Sampled answers, JSON and streams, that each SDK reads as they are. */
const SAMPLED = { chat: 139, responses: 224, messages: 270, gemini: 267 };

const dir = trafficDir();
let gateway: TestGateway;
let replay: ReplayServer;

interface Sample {
  source: MatrixSource;
  record: TrafficRecord;
}

/** The first record of every combination of kinds, streams and whole answers apart; answers only. */
function sampleOf(source: MatrixSource): Sample[] {
  const seen = new Set<string>();
  const records = dir === null ? [] : readTraffic(dir, source.file);
  return records.flatMap((record) => {
    const kinds = record.tags.filter((tag) => KINDS.test(tag)).sort();
    const key = `${record.stream} ${kinds.join(" ")}`;
    if (seen.has(key) || expectedOf(record, source.own).kind === "failure") return [];
    seen.add(key);
    return [{ source, record }];
  });
}

/** What an SDK makes of one answer, as JSON of its dialect. */
type Ask = (model: string, stream: boolean, headers: Record<string, string>) => Promise<unknown>;

function asks(url: string): Record<(typeof SDKS)[number], Ask> {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: CLIENT_KEY, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: url, apiKey: CLIENT_KEY, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Grüße 👋" }];
  return {
    async chat(model, stream, headers) {
      if (!stream) return openai.chat.completions.create({ model, messages }, { headers });
      const stream_options = { include_usage: true };
      return openai.chat.completions.stream({ model, messages, stream_options }, { headers }).finalChatCompletion();
    },
    async responses(model, stream, headers) {
      if (!stream) return openai.responses.create({ model, input: "Grüße 👋" }, { headers });
      return openai.responses.stream({ model, input: "Grüße 👋" }, { headers }).finalResponse();
    },
    async messages(model, stream, headers) {
      if (!stream) return anthropic.messages.create({ model, max_tokens: 1_000, messages }, { headers });
      return anthropic.messages.stream({ model, max_tokens: 1_000, messages }, { headers }).finalMessage();
    },
    async gemini(model, stream, headers) {
      const google = new GoogleGenAI({ apiKey: CLIENT_KEY, httpOptions: { baseUrl: url, headers } });
      const request = { model, contents: "Grüße 👋" };
      if (!stream) return google.models.generateContent(request);
      const chunks: unknown[] = [];
      for await (const chunk of await google.models.generateContentStream(request)) chunks.push(chunk);
      return chunks;
    },
  };
}

/** What the SDK can tell of an answer. */
function toldBy(sdk: (typeof SDKS)[number], reply: Reply, stream: boolean): Reply {
  const told = DIALECTS[sdk].tells(reply);
  if (sdk !== "chat" || !stream) return told;
  // Its helper keeps the last piece of a member that it does not know.
  return { ...told, choices: told.choices.map((said) => ({ ...said, reasoning: "", proofs: [] })) };
}

/** Arguments that were cut off are no JSON; each SDK makes of them what it can. */
function hideCutCalls(got: Reply, want: Reply): void {
  want.choices.forEach(({ calls }, choice) => {
    calls.forEach((call, index) => {
      const other = got.choices[choice]?.calls[index];
      if (typeof call.arguments !== "string" || !other) return;
      call.arguments = "cut";
      other.arguments = "cut";
    });
  });
}

async function wrongWith({ source, record }: Sample, sdk: (typeof SDKS)[number], ask: Ask): Promise<string | null> {
  const place = freshName();
  replay.serve(asEvents(record), undefined, place);
  try {
    const answer = await ask(source.file, record.stream, { [PLACE_HEADER]: place, "x-sluicegate-metadata": "off" });
    const got = DIALECTS[sdk].read(Buffer.from(JSON.stringify(answer)), false);
    const expected = expectedOf(record, source.own);
    if (expected.kind === "failure") return "a failure was expected";
    const chat = CHAT_SOURCES.find(({ file }) => file === source.file);
    const reply = chat ? { ...expected.reply, usage: expectedFacts(record, chat).usage } : expected.reply;
    const want = toldBy(sdk, reply, record.stream);
    const shown = sdk === "chat" && record.stream ? toldBy(sdk, got, true) : got;
    hideCutCalls(shown, want);
    const wrong = wrongReply(shown, want, source.own === "responses");
    return wrong && `${record.id}: ${wrong}`;
  } catch (thrown) {
    return `${record.id}: ${thrown}`;
  }
}

describe.skipIf(dir === null)(
  "recorded answers through the official SDKs, where SLUICEGATE_TRAFFIC_DIR has them",
  () => {
    const samples = SOURCES.flatMap(sampleOf);

    beforeAll(async () => {
      replay = await startReplayServer();
      gateway = await startTestGateway({ forgives: true, config: matrixConfig(SOURCES, replay.url, PLACE_HEADER) });
    });

    afterAll(async () => {
      await gateway.close();
      await replay.close();
    });

    test.each(SDKS)("%s", async (sdk) => {
      const ask = asks(gateway.url)[sdk];
      const wrong: string[] = [];
      // In its own dialect an SDK gets a provider's bytes, whatever it makes of them.
      const others = samples.filter(({ source }) => source.own !== sdk);
      for (let from = 0; from < others.length; from += 10) {
        const found = await Promise.all(others.slice(from, from + 10).map((sample) => wrongWith(sample, sdk, ask)));
        wrong.push(...found.filter((one) => one !== null));
      }
      expect(wrong).toEqual([]);
      expect(others.length).toBe(SAMPLED[sdk]);
    });
  },
);
