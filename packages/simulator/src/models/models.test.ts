import { expect, test } from "vitest";
import { askFor } from "./ask.ts";
import { minimalInstance } from "./instance.ts";
import { MODELS, resolveModel } from "./resolve.ts";
import { estimateTokens, fillerPart, piecesOf, textPart } from "./text.ts";

test("tokens are a quarter of the bytes, rounded up", () => {
  expect(["", "a", "abcd", "abcde", "žž"].map(estimateTokens)).toEqual([0, 1, 1, 2, 1]);
});

test("pieces join to the text again", () => {
  for (const text of ["", " a  b\nc ", "word", "🐎".repeat(20), `x${"🐎".repeat(20)}`]) {
    for (const cut of ["words", "fragments", "whole"] as const) {
      const pieces = piecesOf(textPart("text", text, cut));
      expect(pieces.join("")).toBe(text);
      expect(pieces.every((piece) => Buffer.from(piece).toString() === piece)).toBe(true);
    }
  }
  expect(piecesOf(fillerPart("text", 20))).toHaveLength(20);
});

test("options are read with their units, defaults stay", () => {
  const model = resolveModel("slow?between=50ms&chunk=3&crlf=1");
  expect(model.settings).toEqual({ first_token: 1000, between: 50, chunk: 3, crlf: true });
  expect(resolveModel("slow?first_token=1.5s").settings.first_token).toBe(1500);
  expect(resolveModel("echo?between=0&tag=x").settings).toEqual({ between: 0, tag: "x" });
  expect(resolveModel("echo?").settings).toEqual({});
});

test("every model says what it does", () => {
  for (const [name, behaviour] of MODELS) {
    expect(name).toMatch(/^[a-z0-9]+$/);
    expect(behaviour.about.length).toBeGreaterThan(5);
  }
});

test.for([
  [{ type: "string", minLength: 8 }, "samplexx"],
  [{ type: "string", maxLength: 3 }, "sam"],
  [{ type: "string", format: "date" }, "2026-01-01"],
  [{ enum: ["b", "a"] }, "b"],
  [{ const: 7 }, 7],
  [{ type: "integer", exclusiveMinimum: 3 }, 4],
  [{ type: "number", minimum: 5, multipleOf: 4 }, 8],
  [{ type: "number", maximum: -2 }, -2],
  [{ type: ["null", "string"] }, null],
  [{ anyOf: [{ type: "boolean" }, { type: "null" }] }, true],
  [{ type: "array", items: { type: "integer" }, minItems: 2 }, [0, 0]],
  [{ type: "array", items: { type: "integer" } }, []],
  [{ properties: { a: { type: "null" }, b: {} }, required: ["a"] }, { a: null }],
  [{ allOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } }, required: ["b"] }] }, { b: 2 }],
  [{ $defs: { x: { const: 1 } }, type: "object", properties: { a: { $ref: "#/$defs/x" } } }, { a: 1 }],
] as const)("%j gives %j", ([schema, value]) => {
  expect(minimalInstance(schema)).toEqual(value);
});

test("a schema that never ends still gives a value", () => {
  const node = { type: "object", properties: { l: { $ref: "#" }, r: { $ref: "#" } }, required: ["l", "r"] };
  expect(minimalInstance(node)).toBeTypeOf("object");
});

test("tool calls the first of its names that is offered, and says its text at any other time", () => {
  const tools = ["read", "run", "write"].map((name) => ({ kind: "function" as const, name, parameters: {} }));
  const { behaviour, settings } = resolveModel('tool?call=shell,run,read&args={"command":"ls"}&says=all done');
  const turn = (given: object) =>
    behaviour
      .draft(
        askFor({ text: "go", inputTokens: 1, tools, toolChoice: { mode: "auto", name: null }, ...given }),
        settings,
      )
      .parts.map((part) => [part.kind === "call" ? part.call.name : part.kind, part.text]);
  expect(turn({})).toEqual([["run", '{"command":"ls"}']]);
  expect(turn({ tools: tools.slice(2) })).toEqual([["text", "all done"]]);
  expect(turn({ toolResult: "x" })).toEqual([["text", "all done"]]);
  expect(turn({ toolChoice: { mode: "none", name: null } })).toEqual([["text", "all done"]]);
});
