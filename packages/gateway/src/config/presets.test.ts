import { expect, test } from "vitest";
import { readBaseUrl } from "./build/base-url.ts";
import { PRESET_NAMES, presetNamed } from "./presets.ts";

test("every preset of ruling 1 is there, with a base URL that the loader would take", () => {
  expect(PRESET_NAMES).toHaveLength(20);
  for (const name of PRESET_NAMES) {
    const preset = presetNamed(name);
    expect(preset?.name).toBe(name);
    if (preset?.baseUrl) expect(readBaseUrl(preset.baseUrl)).toEqual({ url: preset.baseUrl });
    expect(preset?.needsKey).toBe(!preset?.selfHosted);
  }
  expect(presetNamed("constructor")).toBeNull();
});

test("what differs is data", () => {
  expect(presetNamed("xai")).toMatchObject({ reasoningInOutput: false, maxTokensField: "max_completion_tokens" });
  expect(presetNamed("deepseek")).toMatchObject({ reasoningInOutput: true, maxTokensField: "max_tokens" });
  expect(presetNamed("vllm")).toMatchObject({ baseUrl: null, needsKey: false, selfHosted: true });
  expect(presetNamed("ollama")?.baseUrl).toBe("http://127.0.0.1:11434/v1");
  expect(presetNamed("perplexity")?.apis).toEqual(["responses"]);
  expect(presetNamed("xai")?.apis).toEqual(["chat", "responses"]);
  expect(presetNamed("groq")?.apis).toEqual(["chat"]);
});
