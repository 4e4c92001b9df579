import { describe, expect, it } from "vitest";
import { canonicalRequest } from "../core/fixtures/canonical-request.ts";
import type { Block, CanonicalRequest, Message, Tool } from "../core/message.ts";
import { countable } from "./countable.ts";

const EMPTY = canonicalRequest({ messages: [] });
const said = (...blocks: Block[]): Message => ({ role: "user", blocks });
const counted = (change: Partial<CanonicalRequest>) => {
  const { texts, flat } = countable({ ...EMPTY, ...change });
  return { texts, flat: flat - countable(EMPTY).flat };
};
const DATA = "QUJD".repeat(2_000);

describe("what of a request is counted", () => {
  it.each<[string, Block, string[], number]>([
    ["text", { type: "text", text: "hi" }, ["hi"], 4],
    ["no text", { type: "text", text: "" }, [], 4],
    [
      "thoughts, without their proof",
      { type: "reasoning", text: "hm", signature: { dialect: "d", value: DATA } },
      ["hm"],
      4,
    ],
    ["a refusal", { type: "refusal", text: "no" }, ["no"], 4],
    ["a picture", { type: "image", source: { kind: "base64", data: DATA, mediaType: "image/png" } }, [], 769],
    ["a small picture", { type: "image", source: { kind: "url", url: "u", mediaType: null }, detail: "low" }, [], 89],
    [
      "a document",
      {
        type: "document",
        source: { kind: "base64", data: DATA, mediaType: "application/pdf" },
        title: "t",
        context: "c",
      },
      ["t", "c"],
      3_004,
    ],
    ["a document of text", { type: "document", source: { kind: "text", text: "words" } }, ["words"], 4],
    [
      "the same in base64",
      { type: "document", source: { kind: "base64", data: "d29yZHM=", mediaType: "text/plain" } },
      ["words"],
      4,
    ],
    ["sound", { type: "audio", source: { kind: "base64", data: DATA, mediaType: "audio/wav" } }, [], 1_004],
    [
      "a call",
      { type: "tool_call", id: "c1", name: "get", arguments: { a: 1 }, text: '{"a":1}' },
      ["get", '{"a":1}'],
      12,
    ],
    [
      "its result",
      { type: "tool_result", callId: "c1", name: "get", content: [{ type: "text", text: "42" }], isError: false },
      ["42"],
      12,
    ],
    ["something opaque", { type: "opaque", dialect: "d", path: "p", value: { a: "b" } }, ['{"a":"b"}'], 4],
    ["data in something opaque", { type: "opaque", dialect: "d", path: "p", value: { a: DATA } }, ['{"a":""}'], 769],
  ])("%s", (_name, block, texts, flat) => {
    expect(counted({ messages: [said(block)] })).toEqual({ texts, flat });
  });

  it.each<[string, Tool, string[]]>([
    [
      "a function",
      { type: "function", name: "f", description: "d", parameters: { type: "object" } },
      ["f", "d", '{"type":"object"}'],
    ],
    ["one without parameters", { type: "function", name: "f", parameters: null }, ["f"]],
    ["a custom tool", { type: "custom", name: "c", format: { syntax: "lark" } }, ["c", '{"syntax":"lark"}']],
    [
      "a hosted one",
      { type: "hosted", dialect: "d", path: "p", value: { type: "web_search" } },
      ['{"type":"web_search"}'],
    ],
  ])("%s", (_name, tool, texts) => {
    expect(counted({ tools: [tool] })).toEqual({ texts, flat: 8 });
  });

  it("names, the schema of the answer, and some tokens for every message", () => {
    const messages: Message[] = [
      { role: "system", blocks: [] },
      { role: "user", name: "ann", blocks: [] },
    ];
    const responseFormat = { type: "json_schema", name: "n", schema: { type: "string" } } as const;
    expect(counted({ messages, responseFormat })).toEqual({ texts: ["ann", '{"type":"string"}'], flat: 8 });
  });
});
