import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalOf } from "../../test/support/thrown.ts";
import { LIMITS } from "../core/limits.ts";
import { platformFields } from "./platform-fields.ts";

const read = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  platformFields(body, { header: (name) => headers[name] });
const refused = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  refusalOf(() => read(body, headers));

/** Every field this build honours, with a value, and the same as a header says it. */
const FIELDS: [string, unknown, string][] = [
  ["task_class", "reasoning", "reasoning"],
  ["classification", "internal", "internal"],
  ["session_id", "s1", "s1"],
  ["user", "u1", "u1"],
  ["agent", "a1", "a1"],
  ["application", "bot", "bot"],
  ["template_version", "v7", "v7"],
  ["side_effecting", true, "true"],
  ["cacheable", false, "false"],
  ["fallback", false, "false"],
  ["hedge", true, "true"],
  ["retry_after_tool_results", true, "true"],
  ["residency", "eu", "eu"],
  ["priority", "low", "low"],
  ["latency_budget_ms", 1_500, "1500"],
  ["tags", { team: "x", tier: "gold" }, '{"team":"x","tier":"gold"}'],
];
const headerOf = (field: string): string => `x-sluicegate-${field.replaceAll("_", "-")}`;

describe("platform fields", () => {
  it("are the same when it is known that no header says any", () => {
    const said = fc.record(
      {
        gateway: fc.oneof(
          fc.constantFrom(null, undefined, {}, [], 7, { cache_policy: "force" }, { nobody: 1 }),
          fc.subarray(FIELDS).map((fields) => Object.fromEntries(fields.map(([key, value]) => [key, value]))),
        ),
        session_id: fc.constantFrom("s", "", null, 7),
        cache_policy: fc.constantFrom("auto", "force", null),
        hedge: fc.constantFrom(true, null, "now"),
        user: fc.constant("u"),
      },
      { requiredKeys: [] },
    );
    const outcome = (act: () => unknown): unknown => {
      try {
        return act();
      } catch (error) {
        return error;
      }
    };
    fc.assert(
      fc.property(said, (body) => {
        const header = (): undefined => undefined;
        expect(outcome(() => platformFields(body, { header, platformHeaders: false }))).toEqual(
          outcome(() => platformFields(body, { header })),
        );
      }),
      { numRuns: 500 },
    );
  });

  it.each(FIELDS)("%s comes from the body, from a header, and from the body when both say it", (field, value, text) => {
    expect(read({ gateway: { [field]: value } })).toEqual({ [field]: value });
    expect(read({}, { [headerOf(field)]: text })).toEqual({ [field]: value });
    const others: Record<string, string> = { tags: '{"other":"1"}', priority: "high" };
    const other = others[field] ?? (typeof value === "boolean" ? String(!value) : "9");
    expect(read({ gateway: { [field]: value } }, { [headerOf(field)]: other })).toEqual({ [field]: value });
  });

  it.each(FIELDS)("%s as null is the same as absent: the header holds", (field, value, text) => {
    expect(read({ gateway: { [field]: null } })).toEqual({});
    expect(read({ gateway: { [field]: null } }, { [headerOf(field)]: text })).toEqual({ [field]: value });
  });

  it("are none when nothing is said", () => {
    expect(read({})).toEqual({});
    expect(read({ gateway: {} })).toEqual({});
    expect(read({ gateway: null })).toEqual({});
  });

  it.each([[1], ["text"], [[]], [true]])("gateway as %j is refused", (gateway) => {
    expect(refused({ gateway })).toMatchObject({ code: "invalid_request", param: "gateway" });
  });

  it.each([
    ["task_class", 7],
    ["classification", ""],
    ["user", ["u"]],
    ["session_id", { id: 1 }],
    ["agent", "x".repeat(LIMITS.labelCharsMax + 1)],
    ["side_effecting", "yes"],
    ["cacheable", 1],
    ["fallback", "no"],
    ["hedge", "300ms"],
    ["residency", ["eu"]],
    ["priority", "urgent"],
    ["priority", true],
    ["latency_budget_ms", 0],
    ["latency_budget_ms", -5],
    ["latency_budget_ms", 1.5],
    ["latency_budget_ms", "soon"],
    ["latency_budget_ms", Number.POSITIVE_INFINITY],
    ["tags", []],
    ["tags", "a=b"],
  ])("%s as %j is refused by its path", (field, value) => {
    expect(refused({ gateway: { [field]: value } })).toMatchObject({
      code: "invalid_request",
      param: `gateway.${field}`,
    });
  });

  it.each([
    ["x-sluicegate-side-effecting", "yes"],
    ["x-sluicegate-latency-budget-ms", "1s"],
    ["x-sluicegate-user", ""],
    ["x-sluicegate-tags", "a=b"],
    ["x-sluicegate-tags", '["a"]'],
  ])("header %s: %s is refused by its name", (name, value) => {
    expect(refused({}, { [name]: value })).toMatchObject({ code: "invalid_request", param: name });
  });

  it("takes a label of exactly the bound", () => {
    const user = "x".repeat(LIMITS.labelCharsMax);
    expect(read({ gateway: { user } })).toEqual({ user });
  });

  describe("tags", () => {
    it.each([[{ n: 1 }], [{ n: null }], [{ n: "" }], [{ n: "x".repeat(257) }], [{ n: ["a"] }]])(
      "%j names the tag",
      (tags) => {
        expect(refused({ gateway: { tags } })).toMatchObject({ code: "invalid_request", param: "gateway.tags.n" });
      },
    );

    it("are bounded in number", () => {
      const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, "x"]));
      expect(Object.keys(read({ gateway: { tags: many(LIMITS.tagsMax) } }).tags ?? {})).toHaveLength(LIMITS.tagsMax);
      expect(refused({ gateway: { tags: many(LIMITS.tagsMax + 1) } })).toMatchObject({ param: "gateway.tags" });
    });

    it("of a prototype's name reach no other object", () => {
      const { tags } = read({}, { "x-sluicegate-tags": '{"__proto__":"x"}' });
      expect(Object.getPrototypeOf(tags)).toBe(Object.prototype);
      expect(Object.keys(tags ?? {})).toEqual(["__proto__"]);
    });
  });

  describe("that are not fields", () => {
    it("are refused by name, with the known ones", () => {
      const refusal = refused({ gateway: { task_clas: "x" } });
      expect(refusal).toMatchObject({ code: "invalid_request", param: "gateway.task_clas" });
      expect(refusal.message).toContain("task_class");
    });

    it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("%s is no exception", (key) => {
      const gateway = JSON.parse(`{${JSON.stringify(key)}:"x"}`) as Record<string, unknown>;
      expect(refused({ gateway })).toMatchObject({ code: "invalid_request", param: `gateway.${key}` });
    });

    it("a tenant is refused whatever it says (ruling 25), and a long name is clipped", () => {
      expect(refused({ gateway: { tenant: "acme" } })).toMatchObject({
        code: "invalid_request",
        param: "gateway.tenant",
      });
      expect(refused({ gateway: { tenant: null } })).toMatchObject({ param: "gateway.tenant" });
      expect(refused({ gateway: { ["x".repeat(5_000)]: 1 } }).message.length).toBeLessThan(500);
    });

    it("a top-level tenant is just an unknown field", () => {
      expect(read({ tenant: "acme" })).toEqual({});
    });
  });

  describe("session_id", () => {
    it("may stand at the top: before the header, after gateway", () => {
      expect(read({ session_id: "top" })).toEqual({ session_id: "top" });
      expect(read({ session_id: "top" }, { "x-sluicegate-session-id": "header" })).toEqual({ session_id: "top" });
      expect(read({ session_id: "top", gateway: { session_id: "inner" } })).toEqual({ session_id: "inner" });
      expect(read({ session_id: null }, { "x-sluicegate-session-id": "header" })).toEqual({ session_id: "header" });
    });

    it("is refused there by its own path", () => {
      expect(refused({ session_id: 5 })).toMatchObject({ param: "session_id" });
    });
  });

  describe("hedge", () => {
    it("may stand at the top: before the header, after gateway", () => {
      expect(read({ hedge: true }, { "x-sluicegate-hedge": "false" })).toEqual({ hedge: true });
      expect(read({ hedge: true, gateway: { hedge: false } })).toEqual({ hedge: false });
      expect(refused({ hedge: "now" })).toMatchObject({ code: "invalid_request", param: "hedge" });
    });
  });

  describe("of behaviour this build does not have", () => {
    it.each([
      ["cache_policy", "force"],
      ["cache_class", "faq"],
      ["cache_floor", 0.99],
    ])("%s as %j is refused, never ignored", (field, value) => {
      expect(refused({ gateway: { [field]: value } })).toMatchObject({ code: "unsupported_feature", param: field });
      expect(refused({}, { [headerOf(field)]: String(value) })).toMatchObject({
        code: "unsupported_feature",
        param: field,
      });
    });

    it("is refused at the top level too", () => {
      expect(refused({ cache_policy: "force" })).toMatchObject({ code: "unsupported_feature", param: "cache_policy" });
    });

    it.each([
      ["cache_policy", "bypass"],
      ["cache_policy", "auto"],
      ["cache_class", null],
    ])("%s as %j asks for nothing, and is taken", (field, value) => {
      expect(read({ gateway: { [field]: value } })).toEqual({});
    });

    it("a body that asks for nothing wins over a header that asks", () => {
      expect(read({ gateway: { cache_policy: "auto" } }, { "x-sluicegate-cache-policy": "force" })).toEqual({});
    });
  });
});
