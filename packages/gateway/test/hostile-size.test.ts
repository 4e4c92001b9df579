import { describe, expect, test } from "vitest";
import type { Call } from "../src/core/call.ts";
import { systemClock } from "../src/core/clock.ts";
import { LIMITS } from "../src/core/limits.ts";
import { toolSchema } from "../src/protocols/anthropic-messages/schema.ts";
import { bedrockConverse } from "../src/protocols/bedrock-converse/index.ts";
import { PendingCalls } from "../src/protocols/gemini-generate/pending-calls.ts";
import type { Protocol } from "../src/protocols/protocol.ts";
import { PROTOCOLS } from "../src/protocols/registry.ts";
import { parsedArguments } from "../src/protocols/tool-arguments.ts";
import { ToolIds } from "../src/protocols/tool-ids.ts";
import { openCrossing, translates, writerFor } from "../src/protocols/translate.ts";
import { UniqueNames } from "../src/protocols/unique-names.ts";
import { EventIntake } from "../src/stages/event-intake.ts";
import { openMeter } from "../src/stages/meter.ts";

// What is quadratic in a list of the client's does not come to its end within a test's time at these sizes.
const MANY = 80_000;
const QUIRKS = { maxTokensField: null, streamOptions: true, reasoningInOutput: null };
const TARGET = { model: "claude-sonnet-4-20250514", quirks: QUIRKS, maxOutputTokens: 8_192 };

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));
const named = (name: string): Protocol => {
  const found = PROTOCOLS.find((protocol) => protocol.name === name);
  if (!found) throw new Error(`no protocol ${name}`);
  return found;
};
const TARGETS = [...PROTOCOLS.filter(({ translation }) => translation?.family === "chat"), bedrockConverse];

function callOf(protocol: Protocol, body: Record<string, unknown>, stream = false): Call {
  const path = protocol.name === "gemini-generate" ? { query: "alt=sse", alias: "m", stream } : { query: "" };
  return protocol.decodeRequest({
    raw: Buffer.from(JSON.stringify(body)),
    header: (name) => (name === "content-type" ? "application/json" : undefined),
    path,
  });
}

/** Every dialect's body for this call, with the sizes of what went through. */
function encodeForAll(name: string, body: Record<string, unknown>): string[] {
  const client = named(name);
  const crossing = openCrossing(client, callOf(client, body));
  return TARGETS.filter((target) => translates(client, target)).map((target) => {
    crossing?.inexpressible(target, TARGET);
    return `${target.name} ${(crossing?.encode(target, TARGET).body.length ?? 0) > MANY}`;
  });
}

const USER = { role: "user", content: "a" };
const functionCall = (id: string): unknown => ({ id, type: "function", function: { name: "t", arguments: "{}" } });

describe("a list of many small things is read and written once", () => {
  const tools = list(MANY / 4, (index) => ({ type: "function", name: `t${index}`, parameters: null }));
  const names = list(MANY / 4, (index) => ({ type: "function", name: `t${index}` }));
  test.each<[string, string, Record<string, unknown>]>([
    [
      "calls of one id",
      "openai-chat",
      {
        model: "m",
        messages: [
          USER,
          { role: "assistant", tool_calls: list(MANY / 4, () => functionCall("c")) },
          ...list(MANY / 4, () => ({ role: "tool", tool_call_id: "c", content: "x" })),
        ],
      },
    ],
    [
      "parts of one message",
      "openai-responses",
      {
        model: "m",
        input: [{ role: "assistant", content: list(MANY * 1.6, () => ({ type: "output_text", text: "a" })) }],
      },
    ],
    [
      "parts of one turn",
      "gemini-generate",
      {
        contents: [
          { role: "user", parts: list(MANY * 1.8, () => ({ text: "a" })) },
          { role: "user", parts: [{ text: "b" }] },
        ],
      },
    ],
    [
      "documents of one title",
      "anthropic-messages",
      {
        model: "m",
        max_tokens: 9,
        messages: [
          {
            role: "user",
            content: list(MANY / 4, () => ({
              type: "document",
              title: "t",
              source: { type: "text", media_type: "text/plain", data: "a" },
            })),
          },
        ],
      },
    ],
    [
      "allowed tools",
      "openai-responses",
      { model: "m", input: "a", tools, tool_choice: { type: "allowed_tools", mode: "auto", tools: names } },
    ],
    [
      "cache markers",
      "anthropic-messages",
      {
        model: "m",
        max_tokens: 9,
        system: list(MANY / 2, () => ({ type: "text", text: "a", cache_control: { type: "ephemeral" } })),
        messages: [USER],
      },
    ],
  ])("%s in %s", (_what, name, body) => {
    const encoded = encodeForAll(name, body);
    expect(encoded.length).toBeGreaterThanOrEqual(4);
    expect(encoded.filter((line) => line.endsWith("false"))).toEqual([]);
  });

  test("ids and names that repeat get a number each", () => {
    const ids = new ToolIds((id) => id);
    const given = list(MANY, () => ids.call("c"));
    expect(new Set(given).size).toBe(MANY);
    expect(list(MANY, () => ids.result("c"))).toEqual(given);
    expect([ids.result("c"), ids.unanswered]).toEqual([null, null]);
    const unique = new UniqueNames();
    const numbered = (name: string, n: number): string => `${name} ${n}`;
    expect(["a", "a 2", "a", "a", "a 2"].map((name) => unique.take(name, numbered))).toEqual([
      ...["a", "a 2", "a 3", "a 4"],
      "a 2 2",
    ]);
  });

  test("results are matched to calls from any end", () => {
    const calls = new PendingCalls();
    for (let index = 0; index < MANY; index++) calls.add({ id: `c${index}`, name: "t", given: index % 2 === 0 });
    const backwards = list(MANY / 2, (index) => calls.take(`c${MANY - 1 - index}`, "t")?.id);
    expect(backwards[0]).toBe(`c${MANY - 1}`);
    const oldest = list(MANY / 2, () => calls.take(undefined, "t")?.id);
    expect([oldest[0], oldest[MANY / 2 - 1]]).toEqual(["c0", `c${MANY / 2 - 1}`]);
    expect(calls.take(undefined, "t")).toBeNull();
  });

  test("alternatives of a schema that require much", () => {
    const required = list(MANY / 4, (index) => `p${index}`);
    const alternatives = [required, required.toReversed(), [...required.slice(1), "q"]];
    const schema = toolSchema({ anyOf: alternatives.map((names) => ({ type: "object", required: names })) });
    expect(new Set(schema?.["required"] as string[])).toEqual(new Set(required.slice(1)));
  });
});

describe("what nests without end", () => {
  test("is text where it is a call's arguments", () => {
    const deep = (depth: number): string => `{"a":${"[".repeat(depth - 1)}"]]["${"]".repeat(depth - 1)}}`;
    expect(parsedArguments(deep(LIMITS.jsonDepthMax))).toBeDefined();
    expect(parsedArguments(deep(LIMITS.jsonDepthMax + 1))).toBeUndefined();
    const call = { id: "c", type: "function", function: { name: "t", arguments: deep(200_000) } };
    const messages = [
      USER,
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "c", content: "x" },
    ];
    expect(encodeForAll("openai-chat", { model: "m", messages })).toContain("gemini-generate true");
  });
});

describe("a stream without end", () => {
  const sse = (event: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(event)}\n\n`);
  const intakeOf = (client: Protocol, provider: Protocol): EventIntake => {
    const body = { model: "m", input: "x", stream: true };
    const shown = { call: callOf(client, body, true), requestId: "req_1", createdS: 1, model: "m" };
    return new EventIntake(
      {
        protocol: provider,
        quirks: QUIRKS,
        writer: writerFor(client, shown),
        ...{ dresser: null, choices: 1, showsUsage: true, holdTerminator: false },
      },
      openMeter(0),
      systemClock,
    );
  };

  test("is broken off before its writer keeps more than an answer may be", () => {
    const intake = intakeOf(named("openai-responses"), named("openai-chat"));
    const text = "x".repeat(1024 * 1024);
    let pushed = 0;
    let broken: string | null = null;
    while (broken === null && pushed < 100) {
      pushed++;
      broken = intake.push(sse({ choices: [{ index: 0, delta: { content: text } }] })).broken;
    }
    expect(broken).toContain(String(LIMITS.translatedStreamBytesMax));
    expect(pushed).toBe(LIMITS.translatedStreamBytesMax / text.length);
  });

  test.each<[string, string, (index: number) => unknown]>([
    [
      "calls",
      "openai-chat",
      (index) => ({
        choices: [{ index: 0, delta: { tool_calls: [{ index, id: `c${index}`, function: { name: "t" } }] } }],
      }),
    ],
    ["choices", "openai-chat", (index) => ({ choices: [{ index, delta: { content: "a" } }] })],
    [
      "blocks",
      "anthropic-messages",
      (index) => ({ type: "content_block_start", index, content_block: { type: "text", text: "" } }),
    ],
    [
      "items",
      "openai-responses",
      (index) => ({ type: "response.output_item.added", output_index: -index * 1e9, item: { type: "message" } }),
    ],
    [
      "parts of an item",
      "openai-responses",
      (index) => ({ type: "response.output_text.delta", output_index: 0, content_index: index, delta: "a" }),
    ],
    ["candidates", "gemini-generate", (index) => ({ candidates: [{ index, content: { parts: [{ text: "a" }] } }] })],
    [
      "calls of a candidate",
      "gemini-generate",
      () => ({ candidates: [{ content: { parts: [{ functionCall: { name: "t", args: {} } }] } }] }),
    ],
    [
      "places of arguments",
      "gemini-generate",
      (index) => ({
        candidates: [
          {
            content: {
              parts: [
                {
                  functionCall: {
                    ...(index === 0 && { name: "t" }),
                    willContinue: true,
                    partialArgs: [{ jsonPath: `$.a${index}[9]`, numberValue: 1 }],
                  },
                },
              ],
            },
          },
        ],
      }),
    ],
  ])("of %s in %s", (_what, name, event) => {
    const client = named(name === "openai-responses" ? "openai-chat" : "openai-responses");
    const provider = named(name);
    const shown = {
      call: callOf(client, { model: "m", input: "x", messages: [USER], stream: true }, true),
      ...{ requestId: "req_1", createdS: 1, model: "m" },
    };
    const spec = { dresser: null, choices: 1, showsUsage: true, holdTerminator: false, quirks: QUIRKS };
    const writer = writerFor(client, shown);
    const intake = new EventIntake({ ...spec, protocol: provider, writer }, openMeter(0), systemClock);
    let broken: string | null = null;
    let pushed = 0;
    while (broken === null && pushed <= LIMITS.streamItemsMax + 2) broken = intake.push(sse(event(pushed++))).broken;
    expect(broken).toMatch(new RegExp(`over ${LIMITS.streamItemsMax}`));
  });
});
