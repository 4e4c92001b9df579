import { describe, expect, it } from "vitest";
import { answerSchema, isStrict, toolSchema } from "./schema.ts";

describe("answerSchema", () => {
  it("closes every object, tells constraints in words, and knows one word for alternatives", () => {
    const schema = {
      type: "object",
      description: "A pick.",
      minProperties: 1,
      properties: {
        minimum: { type: "number", minimum: 1, maximum: 2 },
        list: { type: "array", minItems: 1, items: { type: "object", properties: {} } },
        many: { type: "array", minItems: 2, items: { $ref: "#/$defs/leaf" } },
        either: { oneOf: [{ type: "null" }, { type: ["object", "null"], properties: { a: { default: null } } }] },
      },
      $defs: { leaf: { properties: { b: { enum: [null, "x"] } } } },
      required: ["minimum"],
    };
    expect(answerSchema(schema)).toEqual({
      type: "object",
      description: "A pick.\n{minProperties: 1}",
      properties: {
        minimum: { type: "number", description: "{minimum: 1, maximum: 2}" },
        list: { type: "array", minItems: 1, items: { type: "object", properties: {}, additionalProperties: false } },
        many: { type: "array", items: { $ref: "#/$defs/leaf" }, description: "{minItems: 2}" },
        either: {
          anyOf: [
            { type: "null" },
            { type: ["object", "null"], properties: { a: { default: null } }, additionalProperties: false },
          ],
        },
      },
      $defs: { leaf: { properties: { b: { enum: [null, "x"] } }, additionalProperties: false } },
      required: ["minimum"],
      additionalProperties: false,
    });
  });

  it.each([
    { type: "object", additionalProperties: true },
    { type: "object", additionalProperties: { type: "string" } },
    { type: "object", properties: { a: { type: "array", items: { type: "object", additionalProperties: {} } } } },
    { anyOf: [{ type: "object", additionalProperties: true }] },
    { $defs: { a: { type: "object", additionalProperties: true } } },
  ])("cannot say %j", (schema) => {
    expect(answerSchema(schema)).toBeNull();
  });

  it("leaves what is given as it is", () => {
    const schema = Object.freeze({
      type: "object",
      properties: Object.freeze({ a: Object.freeze({ type: "string", pattern: "x" }) }),
    });
    expect(answerSchema(schema)).not.toBe(schema);
    expect(isStrict(schema)).toBe(false);
    expect(isStrict({ ...schema, additionalProperties: false })).toBe(true);
  });
});

describe("toolSchema", () => {
  it("passes an object on as it is", () => {
    const schema = { type: "object", properties: { a: { anyOf: [{}] } }, $defs: {} };
    expect(toolSchema(schema)).toBe(schema);
    expect(toolSchema(null)).toEqual({ type: "object", properties: {} });
    expect(toolSchema({ properties: { a: {} } })).toEqual({ type: "object", properties: { a: {} } });
    expect(toolSchema({ type: ["object", "null"] })).toEqual({ type: "object", properties: {} });
    expect(toolSchema({ type: "array" })).toBeNull();
  });

  it("makes one object of alternatives at the top", () => {
    const a = { type: "object", properties: { kind: {}, a: {} }, required: ["kind", "a"] };
    const b = { type: "object", properties: { kind: {}, b: {} }, required: ["kind", "b"] };
    expect(toolSchema({ anyOf: [a, b], description: "d" })).toEqual({
      type: "object",
      description: "d",
      properties: { kind: {}, a: {}, b: {} },
      required: ["kind"],
    });
    expect(toolSchema({ type: "object", allOf: [a, b] })).toEqual({
      type: "object",
      properties: { kind: {}, a: {}, b: {} },
      required: ["kind", "a", "b"],
    });
  });
});
