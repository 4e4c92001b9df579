import { describe, expect, test } from "vitest";
import { aDeployment, aTenant } from "../config/fixtures/parts.ts";
import { CAPABILITIES, type Capability } from "../core/call.ts";
import { aConfig, someFacts } from "./fixtures/config.ts";
import { fieldOf, type Length, lackedBy, mayOverflow, misplaced, overflowOf, placementOf } from "./gates.ts";

describe("the capability gate", () => {
  const asks = (...needs: Capability[]) => ({ needs, operation: "chat" as const });

  test.each<[string, Capability[] | undefined, Capability[], Capability[]]>([
    ["nothing known", undefined, ["tools", "vision"], []],
    ["nothing asked", [], [], []],
    ["nothing allowed", [], ["tools"], ["tools"]],
    ["all there", ["tools", "vision"], ["vision", "tools"], []],
    ["one missing", ["tools"], ["tools", "vision"], ["vision"]],
  ])("%s", (_, capabilities, needs, lacked) => {
    expect(lackedBy(capabilities === undefined ? {} : { capabilities }, asks(...needs))).toEqual(lacked);
  });

  test("takes nothing out that is only counted", () => {
    expect(lackedBy({ capabilities: [] }, { ...asks("tools"), operation: "count_tokens" })).toEqual([]);
  });

  test("has a field for every capability, in the client's words", () => {
    for (const need of CAPABILITIES) expect(fieldOf(need, {})).toMatch(/^[a-z_]+$/);
    expect(fieldOf("json_schema", { response_format: "text.format" })).toBe("text.format");
    expect(fieldOf("vision", {})).toBe("images");
  });
});

describe("the context gate", () => {
  const length: Length = { operation: "chat", input_tokens: 10_500, input_tokens_min: 5_255 };
  const window = (contextWindow?: number, maxOutputTokens: number | null = null) => ({
    ...(contextWindow !== undefined && { contextWindow }),
    maxOutputTokens,
  });

  test("lets through what fits, what may fit, and what nobody knows of", () => {
    expect(overflowOf(length, window())).toBeNull();
    expect(overflowOf(length, window(1_000_000))).toBeNull();
    // 10,500 by the estimate; as few as 5,255 by the most wordy of tokenizers.
    expect(overflowOf(length, window(8_000))).toBeNull();
    expect(overflowOf(length, window(5_255))).toBeNull();
  });

  test("takes out what cannot fit, and says by how much", () => {
    expect(overflowOf(length, window(5_254))).toEqual({ inputTokensMin: 5_255, outputTokens: 0, window: 5_254 });
  });

  test("takes half of the estimate where nobody has counted", () => {
    const uncounted: Length = { operation: "chat", input_tokens: 10_500 };
    expect(overflowOf(uncounted, window(5_250))).toBeNull();
    expect(overflowOf(uncounted, window(5_249))).toMatchObject({ inputTokensMin: 5_250 });
  });

  test("counts the output that is asked for, as far as the model can write it", () => {
    const asking = { ...length, max_output_tokens: 4_000 };
    expect(overflowOf(asking, window(8_000))).toMatchObject({ outputTokens: 4_000 });
    expect(overflowOf(asking, window(8_000, 500))).toBeNull();
  });

  test("has no say where the provider shortens, and over texts of which each has a window of its own", () => {
    for (const free of [
      { ...length, may_be_shortened: true as const },
      { ...length, operation: "embeddings" as const },
      { ...length, operation: "count_tokens" as const },
    ]) {
      expect(overflowOf(free, window(10))).toBeNull();
      expect(mayOverflow(free, 10)).toBe(false);
    }
  });

  test("has a body counted only where that may matter", () => {
    expect(mayOverflow(length, 10_500)).toBe(false);
    expect(mayOverflow(length, 10_499)).toBe(true);
    expect(mayOverflow({ ...length, max_output_tokens: 1 }, 10_500)).toBe(true);
  });
});

describe("the gates of place", () => {
  const classifications = ["public", "internal", "restricted"];
  const config = (defaults: { classification: string | null; residency: string | null }) =>
    aConfig({
      deployments: [],
      routes: [],
      tenants: [aTenant("acme", { defaults })],
      classifications,
      regions: new Map([["eu", ["eu-west", "eu-north"]]]),
    });
  const open = config({ classification: null, residency: null });
  const strict = config({ classification: "internal", residency: "eu" });

  test("take the request's word, then the tenant's, then the lowest class", () => {
    expect(placementOf(someFacts(), open)).toEqual({ classification: "public", residency: null });
    expect(placementOf(someFacts(), strict)).toEqual({ classification: "internal", residency: "eu" });
    expect(placementOf(someFacts({ classification: "restricted", residency: "us" }), strict)).toEqual({
      classification: "restricted",
      residency: "us",
    });
    expect(placementOf(someFacts({ tenant: "gone" }), strict)).toEqual({ classification: "public", residency: null });
  });

  test.each([
    [{ tenants: ["other"] }, "tenants"],
    [{ tenants: ["acme", "other"], region: "eu-west", maxClassification: "internal" }, null],
    [{ region: "eu-north", maxClassification: "restricted" }, null],
    [{ region: null, maxClassification: "restricted" }, "residency"],
    [{ region: "us-east", maxClassification: "restricted" }, "residency"],
    [{ region: "eu-west" }, "classification"],
    [{ region: "eu-west", maxClassification: "public" }, "classification"],
    [{ region: "us-east", tenants: [] }, "tenants"],
  ])("%j: %s", (changes, gate) => {
    const facts = someFacts();
    const against = misplaced(aDeployment("a", changes), facts, placementOf(facts, strict), strict);
    expect(against?.gate ?? null).toBe(gate);
  });

  test("look at nothing that is not declared", () => {
    const plain = aConfig({ deployments: [], routes: [] });
    const facts = someFacts({ classification: "anything" });
    expect(misplaced(aDeployment("a"), facts, placementOf(facts, plain), plain)).toBeNull();
  });
});
