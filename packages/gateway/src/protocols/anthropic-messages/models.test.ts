import { describe, expect, it } from "vitest";
import { rulesOf } from "./models.ts";

describe("rulesOf (WIRE A3.6)", () => {
  it.each([
    ["claude-3-haiku-20240307", "none", "free", true],
    ["claude-3-5-sonnet-20241022", "none", "free", true],
    ["claude-3-7-sonnet@20250219", "budget", "free", true],
    ["claude-opus-4-20250514", "budget", "one", true],
    ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "budget", "one", true],
    ["anthropic/claude-haiku-4.5", "budget", "one", true],
    ["claude-opus-4-6", "adaptive", "one", false],
    ["claude-opus-4-8", "adaptive", "fixed", false],
    ["claude-sonnet-5", "adaptive", "fixed", false],
    ["claude-fable-5", "adaptive", "fixed", false],
    ["claude-something-9-1", "adaptive", "fixed", false],
    ["kimi-k2", "budget", "free", true],
  ])("%s thinks by %s, samples %s, prefill %s", (model, thinking, sampling, prefill) => {
    expect(rulesOf(model)).toMatchObject({ thinking, sampling, prefill });
  });

  it("knows who can be still, who answers by a schema, and who hides thoughts", () => {
    const having = (key: "canBeStill" | "structured" | "hidesThoughts") =>
      [
        "claude-sonnet-4-20250514",
        "claude-opus-4-1-20250805",
        "claude-opus-4-8",
        "claude-sonnet-5",
        "claude-fable-5",
      ].map((model) => rulesOf(model)[key]);
    expect(having("canBeStill")).toEqual([true, true, true, true, false]);
    expect(having("structured")).toEqual([false, true, true, true, true]);
    expect(having("hidesThoughts")).toEqual([false, false, true, true, true]);
  });
});
