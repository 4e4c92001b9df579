import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Call } from "../src/core/call.ts";
import { inOnePiece } from "../src/core/pieces.ts";
import { proofOf } from "../src/protocols/gemini-generate/proof.ts";
import type { Protocol, Quirks, Target } from "../src/protocols/protocol.ts";
import { openCrossing } from "../src/protocols/translate.ts";
import type { AnswerCase } from "./golden/answer-cases.ts";
import { clientCall, inPieces, protocolOf, SPEAK, streamedTo, wholeTo } from "./golden/answer-run.ts";
import { TARGETS } from "./golden/golden-case.ts";
import { type ClientName, DIALECTS } from "./support/client-dialects.ts";
import type { Json } from "./support/loose-json.ts";

/*
 * Integers of any length in a tool's arguments come out as they went in, whoever speaks to whom. What is translated with short
 * numbers, which are then made long, is held against what is translated with the long ones.
 */

const CLIENTS = ["chat", "responses", "messages", "gemini"] as const satisfies readonly ClientName[];
const PROVIDERS = [...TARGETS, "bedrock-converse", "cohere-chat"] as const;
const SOURCES = [...TARGETS, "bedrock-converse"] as const;

/** Short numbers by which the long ones are known; they stand nowhere else. */
const FIRST = 7_310_000_000;
const long = fc
  .tuple(fc.constantFrom("", "-"), fc.bigInt({ min: 2n ** 53n + 1n, max: 10n ** 40n }))
  .map(([sign, digits]) => sign + digits);

interface Arguments {
  value: Json;
  /** The text with the long numbers in the place of the short ones. */
  lengthen(text: string): string;
}

const given: fc.Arbitrary<Arguments> = fc
  .tuple(
    fc.array(long, { minLength: 1, maxLength: 3 }),
    fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), { maxKeys: 3 }),
    fc.constantFrom("top", "nested", "listed"),
  )
  .map(([numbers, others, place]) => {
    const short = numbers.map((_, index) => FIRST + index);
    const inside = place === "top" ? Object.assign({}, ...short.map((n) => ({ [`k${n % 10}`]: n }))) : short;
    const value = place === "listed" ? { ...others, list: inside } : { ...others, deep: { deeper: inside } };
    return {
      value: (place === "top" ? { ...others, ...inside } : value) as Json,
      lengthen: (text) => text.replace(/731000000\d/g, (found) => numbers[Number(found) - FIRST] ?? found),
    };
  });

/** A conversation whose assistant has called a tool, in a client's words. */
function conversation(client: (typeof CLIENTS)[number], value: Json): Json {
  const text = JSON.stringify(value);
  switch (client) {
    case "chat":
      return {
        messages: [
          { role: "user", content: "go" },
          {
            role: "assistant",
            tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: text } }],
          },
          { role: "tool", tool_call_id: "c1", content: "done" },
        ],
      };
    case "responses":
      return {
        input: [
          { role: "user", content: "go" },
          { type: "function_call", call_id: "c1", name: "f", arguments: text },
          { type: "function_call_output", call_id: "c1", output: "done" },
        ],
      };
    case "messages":
      return {
        messages: [
          { role: "user", content: "go" },
          {
            role: "assistant",
            content: [
              { type: "text", text: "I will, [and] {so} on" },
              { type: "tool_use", id: "c1", name: "f", input: value },
            ],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "done" }] },
        ],
      };
    case "gemini":
      return {
        contents: [
          { role: "user", parts: [{ text: "go" }] },
          { role: "model", parts: [{ text: "so" }, { functionCall: { id: "c1", name: "f", args: value } }] },
          { role: "user", parts: [{ functionResponse: { id: "c1", name: "f", response: { output: "done" } } }] },
        ],
      };
  }
}

const QUIRKS: Quirks = { maxTokensField: null, streamOptions: true, reasoningInOutput: true };
const target = (provider: string): Target => ({
  ...{ model: provider.startsWith("bedrock") ? "us.anthropic.claude-sonnet-4-5-20250929-v1:0" : "claude-sonnet-4-5" },
  ...{ quirks: QUIRKS, maxOutputTokens: null },
});

function decoded(client: (typeof CLIENTS)[number], body: string): Call {
  const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
  const path = { query: "", alias: "a", stream: false };
  return protocolOf(DIALECTS[client].protocol).decodeRequest({ raw: Buffer.from(body), header, path });
}

/** What reaches the provider of a client's body, which is text here: its long numbers would not survive as a value. */
function sentTo(client: (typeof CLIENTS)[number], provider: string, body: string): string {
  const call = decoded(client, body);
  const crossing = openCrossing(protocolOf(call.dialect), call);
  return String(crossing?.encode(protocolOf(provider), target(provider)).body);
}

/** An answer that calls a tool, as Bedrock says it. */
function bedrockAnswer(value: Json): string {
  const content = [{ text: "I will" }, { toolUse: { toolUseId: "c1", name: "f", input: value } }];
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  return JSON.stringify({ output: { message: { role: "assistant", content } }, stopReason: "tool_use", usage });
}

function answerOf(value: Json): AnswerCase {
  const steps = [{ say: ["I will"] }, { call: "f", id: "c1", args: [JSON.stringify(value)] }];
  return { name: "long numbers", alternatives: [{ steps, finish: "tool_calls" }], usage: null };
}

const wholeOf = (source: (typeof SOURCES)[number], value: Json): string =>
  source === "bedrock-converse" ? bedrockAnswer(value) : SPEAK[source].whole(answerOf(value)).toString("utf8");

const foreign = <Name extends string>(names: readonly Name[]): [(typeof CLIENTS)[number], Name][] =>
  CLIENTS.flatMap((client) =>
    names.flatMap((name): [(typeof CLIENTS)[number], Name][] =>
      DIALECTS[client].protocol === name ? [] : [[client, name]],
    ),
  );

function expectSame(short: string, made: string, { lengthen }: Arguments): void {
  expect(short).toMatch(/731000000\d/);
  expect(made).toBe(lengthen(short));
}

describe("long integers in arguments", () => {
  test.each(foreign(PROVIDERS))("of a client of %s reach a provider of %s", (client, provider) => {
    fc.assert(
      fc.property(given, (args) => {
        const body = JSON.stringify({ ...DIALECTS[client].body("a", false), ...conversation(client, args.value) });
        expectSame(sentTo(client, provider, body), sentTo(client, provider, args.lengthen(body)), args);
      }),
      { numRuns: 40 },
    );
  });

  test.each(foreign(SOURCES))("reach a client of %s from a provider of %s", (client, source) => {
    const call = clientCall(client, false, 1);
    const told = (body: string): string => String(wholeTo(call, protocolOf(source), Buffer.from(body)));
    fc.assert(
      fc.property(given, (args) => {
        const body = wholeOf(source, args.value);
        expectSame(told(body), told(args.lengthen(body)), args);
      }),
      { numRuns: 40 },
    );
  });

  test.each(foreign(TARGETS))("reach a client of %s from a stream of %s", (client, source) => {
    const call = clientCall(client, true, 1);
    const protocol: Protocol = protocolOf(source);
    const told = (body: string): string => String(streamedTo(call, protocol, inPieces(Buffer.from(body), 50)));
    fc.assert(
      fc.property(given, (args) => {
        const body = SPEAK[source].stream(answerOf(args.value)).toString("utf8");
        expectSame(told(body), told(args.lengthen(body)), args);
      }),
      { numRuns: 20 },
    );
  });

  test("stay where a history is sent on without another provider's proofs", () => {
    const args = '{"id": 12345678901234567890}';
    const signature = "sg1.gemini-generate.text.c2ln";
    const histories = {
      messages: {
        messages: [
          { role: "user", content: "go" },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature },
              { type: "tool_use", id: "c1", name: "f", input: FIRST },
            ],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "done" }] },
        ],
      },
      gemini: {
        contents: [
          { role: "user", parts: [{ text: "go" }] },
          {
            role: "model",
            parts: [
              {
                text: "hm",
                thought: true,
                thoughtSignature: proofOf({ dialect: "anthropic-messages", value: "c2ln" }, "text"),
              },
              { functionCall: { id: "c1", name: "f", args: FIRST } },
            ],
          },
        ],
      },
    };
    for (const client of ["messages", "gemini"] as const) {
      const raw = JSON.stringify({ ...DIALECTS[client].body("a", false), ...histories[client] });
      const call = decoded(client, raw.replaceAll(String(FIRST), args));
      const sent = String(inOnePiece(protocolOf(call.dialect).passRequest(call, target(client))));
      expect(sent).toContain(args);
      expect(sent).not.toContain("hm");
    }
  });

  test("that are written over many lines stay in one line of a stream", () => {
    const text = '{\n  "id": 12345678901234567890,\r\n  "note": "two\\nlines"\n}';
    const answer = SPEAK["openai-chat"].stream({
      ...answerOf({}),
      alternatives: [{ steps: [{ call: "f", id: "c1", args: [text] }], finish: "tool_calls" }],
    });
    const sent = String(streamedTo(clientCall("gemini", true, 1), protocolOf("openai-chat"), [answer]));
    const lines = sent.split("\r\n").filter((line) => line !== "");
    expect(lines.every((line) => line.startsWith("data: {") && JSON.parse(line.slice(6)))).toBe(true);
    expect(sent).toContain('"id": 12345678901234567890');
  });
});
