import { describe, expect, test } from "vitest";
import { CAPABILITIES, type Capability } from "../core/call.ts";
import { fieldOf, type LongCall, lackedBy, windowGate } from "./gates.ts";

describe("the capability gate", () => {
  const asks = (...needs: Capability[]) => ({ needs: new Set(needs), operation: "chat" as const });

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
  const raw = Buffer.from(JSON.stringify({ messages: [{ role: "user", content: "word and word ".repeat(3_000) }] }));
  const call: LongCall = {
    operation: "chat",
    inputTokensEstimate: Math.ceil(raw.length / 4),
    maxOutputTokens: null,
    raw,
  };
  const window = (contextWindow?: number, maxOutputTokens: number | null = null) => ({
    ...(contextWindow !== undefined && { contextWindow }),
    maxOutputTokens,
  });

  test("lets through what fits, what may fit, and what nobody knows of", () => {
    const gate = windowGate(call);
    expect(gate(window())).toBeNull();
    expect(gate(window(1_000_000))).toBeNull();
    // 10,500 by the estimate; as few as 5,300 by the most wordy of tokenizers.
    expect(gate(window(8_000))).toBeNull();
  });

  test("takes out what cannot fit, and says by how much", () => {
    expect(windowGate(call)(window(5_000))).toEqual({ inputTokensMin: 5_255, outputTokens: 0, window: 5_000 });
  });

  test("counts the output that is asked for, as far as the model can write it", () => {
    expect(windowGate({ ...call, maxOutputTokens: 4_000 })(window(8_000))).toMatchObject({ outputTokens: 4_000 });
    expect(windowGate({ ...call, maxOutputTokens: 4_000 })(window(8_000, 500))).toBeNull();
  });

  test("has no say where the provider shortens, and over texts of which each has a window of its own", () => {
    expect(windowGate({ ...call, mayBeShortened: true })(window(10))).toBeNull();
    expect(windowGate({ ...call, operation: "embeddings" })(window(10))).toBeNull();
    expect(windowGate({ ...call, operation: "count_tokens" })(window(10))).toBeNull();
  });
});
