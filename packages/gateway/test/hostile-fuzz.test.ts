import { describe, expect, test } from "vitest";
import type { Call } from "../src/core/call.ts";
import { systemClock } from "../src/core/clock.ts";
import { GatewayError } from "../src/core/errors.ts";
import type { Reply } from "../src/core/message.ts";
import type { StreamPart } from "../src/core/stream-part.ts";
import { bedrockConverse } from "../src/protocols/bedrock-converse/index.ts";
import type { Protocol } from "../src/protocols/protocol.ts";
import { PROTOCOLS } from "../src/protocols/registry.ts";
import { openCrossing, translateReply, writerFor } from "../src/protocols/translate.ts";
import { EventIntake } from "../src/stages/event-intake.ts";
import { openMeter } from "../src/stages/meter.ts";
import { HOSTILE_VALUES, pathsOf, RICH_REQUESTS, withValue } from "./support/hostile-values.ts";
import { type Json, payloadsOf } from "./support/loose-json.ts";

/* Every member of a request, an answer and an event in turn replaced by what should not stand there. */

const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: null };
const TARGET = { model: "claude-sonnet-4-20250514", quirks: QUIRKS, maxOutputTokens: 8_192 };
const CLIENTS = PROTOCOLS.filter(({ name }) => Object.hasOwn(RICH_REQUESTS, name));
const TARGETS = [...CLIENTS, bedrockConverse];

function callOf(protocol: Protocol, body: Json, stream: boolean): Call {
  const path = protocol.name === "gemini-generate" ? { query: "alt=sse", alias: "m", stream } : { query: "" };
  return protocol.decodeRequest({
    raw: Buffer.from(JSON.stringify(body)),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path,
  });
}

/** A small request that asks for a stream, or not. */
function plainCall(protocol: Protocol, stream: boolean): Call {
  const message = { messages: [{ role: "user", content: "x" }], max_tokens: 5, input: "x" };
  const body = { model: "m", ...message, contents: [{ parts: [{ text: "x" }] }] };
  return callOf(protocol, { ...body, ...(protocol.name !== "gemini-generate" && { stream }) }, stream);
}

const shownTo = (client: Protocol, stream: boolean) => ({
  call: plainCall(client, stream),
  ...{ requestId: "req_1", createdS: 1, model: "m" },
});

/** Anything but a refusal in the gateway's own words is a fault. */
function attempt(what: string, faults: string[], act: () => void): void {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code !== "internal") {
      if (thrown.message === "") faults.push(`${what}: refused without a word`);
    } else
      faults.push(`${what}: ${thrown instanceof Error ? thrown.stack?.split("\n").slice(0, 3).join(" ") : thrown}`);
  }
}

test.each(CLIENTS.map((client) => [client.name, client] as const))("a request of %s", (name, client) => {
  const whole = RICH_REQUESTS[name] ?? {};
  const faults: string[] = [];
  let taken = 0;
  for (const path of pathsOf(whole)) {
    for (const value of [undefined, ...HOSTILE_VALUES]) {
      attempt(`${path.join(".")} = ${JSON.stringify(value)}`, faults, () => {
        const call = callOf(client, withValue(whole, path, value), false);
        client.passRequest(call, TARGET);
        const crossing = openCrossing(client, call);
        taken++;
        for (const target of TARGETS) {
          const lost = crossing?.inexpressible(target, TARGET) ?? [];
          const encoded = crossing?.encode(target, TARGET);
          JSON.parse(encoded?.body.toString() ?? "null");
          const names = [...lost, ...(encoded?.dropped ?? [])];
          if (names.some((each) => typeof each !== "string")) throw new Error("a name that is no text");
        }
      });
    }
  }
  expect(faults.slice(0, 5)).toEqual([]);
  expect(taken).toBeGreaterThan(500);
});

const ARGUMENTS = { a: 1 };
/** What a model can say, in the gateway's own words; each protocol writes it in its dialect. */
const REPLY: Reply = {
  id: "r",
  model: "m",
  choices: [
    {
      blocks: [
        { type: "reasoning", text: "think", signature: { dialect: "anthropic-messages", value: "s" } },
        { type: "text", text: "words" },
        { type: "tool_call", id: "c1", name: "f", arguments: ARGUMENTS, text: JSON.stringify(ARGUMENTS) },
      ],
      finish: "tool_calls",
      stopSequence: null,
      logprobs: null,
      annotations: [{ type: "url_citation", url: "https://a", title: "t", start: 0, end: 1 }],
    },
  ],
  usage: {
    ...{ input_tokens: 9, cached_input_tokens: 2, cache_write_tokens: 1, cache_write_1h_tokens: 0 },
    ...{ output_tokens: 5, reasoning_tokens: 1 },
  },
};
const PARTS: StreamPart[] = [
  { type: "start", id: "r", model: "m" },
  { type: "reasoning", choice: 0, text: "think" },
  { type: "reasoning", choice: 0, text: "", signature: { dialect: "anthropic-messages", value: "s" } },
  { type: "text", choice: 0, text: "words" },
  {
    type: "annotation",
    choice: 0,
    annotation: { type: "url_citation", url: "https://a", title: "t", start: 0, end: 1 },
  },
  { type: "tool_start", choice: 0, index: 0, id: "c1", name: "f" },
  { type: "tool_arguments", choice: 0, index: 0, text: '{"a":1}' },
  { type: "tool_end", choice: 0, index: 0 },
  { type: "finish", choice: 0, reason: "tool_calls" },
  { type: "usage", usage: REPLY.usage ?? {} },
];

const BEDROCK_REPLY = {
  output: {
    message: {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "think", signature: "s" } } },
        { text: "words" },
        { toolUse: { toolUseId: "c1", name: "f", input: ARGUMENTS } },
        {
          citationsContent: {
            content: [{ text: "x" }],
            citations: [{ title: "t", location: { web: { url: "https://a" } } }],
          },
        },
      ],
    },
  },
  stopReason: "tool_use",
  usage: {
    inputTokens: 9,
    outputTokens: 5,
    totalTokens: 14,
    cacheReadInputTokens: 2,
    cacheDetails: [{ ttl: "1h", inputTokens: 1 }],
  },
};

function replyOf(provider: Protocol): Json {
  if (provider === bedrockConverse) return BEDROCK_REPLY;
  const translation = provider.translation as unknown as { encodeReply(reply: Reply, shown: unknown): Buffer };
  return JSON.parse(translation.encodeReply(REPLY, shownTo(provider, false)).toString()) as Json;
}

test.each(TARGETS.map((provider) => [provider.name, provider] as const))("an answer of %s", (_name, provider) => {
  const whole = replyOf(provider);
  const faults: string[] = [];
  const outcomes = { answer: 0, failure: 0 };
  for (const path of pathsOf(whole)) {
    for (const value of [undefined, ...HOSTILE_VALUES]) {
      const what = `${path.join(".")} = ${JSON.stringify(value)}`;
      const body = Buffer.from(JSON.stringify(withValue(whole, path, value)));
      attempt(what, faults, () => {
        const facts = provider.readReply(body, QUIRKS, 0, "application/json");
        if ("failure" in facts) return outcomes.failure++;
        for (const count of Object.values(facts.usage ?? {}))
          if (!Number.isSafeInteger(count) || count < 0) throw new Error(`a count of ${count}`);
        outcomes.answer++;
        for (const client of CLIENTS) {
          const said = translateReply(client, provider, body, QUIRKS, shownTo(client, false));
          const back = client.readReply(said, QUIRKS, 0, "application/json");
          if ("failure" in back) throw new Error(`an answer that ${client.name} itself does not take: ${said}`);
        }
      });
    }
  }
  expect(faults.slice(0, 5)).toEqual([]);
  expect(Math.min(outcomes.answer, outcomes.failure)).toBeGreaterThan(10);
});

describe.each(CLIENTS.map((provider) => [provider.name, provider] as const))("a stream of %s", (_name, provider) => {
  const writer = writerFor(provider, shownTo(provider, true));
  const text = [...PARTS.map((part) => writer.write(part) ?? ""), writer.end(null)].join("");
  const events = payloadsOf(text).filter((event) => typeof event === "object") as Json[];

  test("with one event that is not as it should be", () => {
    const faults: string[] = [];
    let ended = 0;
    let broken = 0;
    events.forEach((event, place) => {
      for (const path of pathsOf(event)) {
        const value = HOSTILE_VALUES[(ended + broken) % HOSTILE_VALUES.length];
        const client = CLIENTS[(ended + broken) % CLIENTS.length] ?? provider;
        const all = events.with(place, withValue(event, path, value));
        attempt(`${path.join(".")} = ${JSON.stringify(value)} for ${client.name}`, faults, () => {
          const said = client === provider ? null : writerFor(client, shownTo(client, true));
          const intake = new EventIntake(
            {
              protocol: provider,
              quirks: QUIRKS,
              writer: said,
              dresser: null,
              choices: 1,
              showsUsage: true,
              holdTerminator: false,
            },
            openMeter(0),
            systemClock,
          );
          const bytes = Buffer.from(all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
          const taken = intake.push(bytes);
          if (taken.said || taken.broken !== null) broken++;
          else ended++;
          if (taken.broken?.match(/^Cannot|undefined|is not/)) throw new Error(taken.broken);
          const end = taken.said || taken.broken !== null ? null : said?.end(null);
          payloadsOf(Buffer.concat([taken.bytes ?? Buffer.alloc(0), end ?? Buffer.alloc(0)]).toString());
        });
      }
    });
    expect(faults.slice(0, 5)).toEqual([]);
    expect(ended).toBeGreaterThan(20);
  });
});
