import type { LanguageModelV2 } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { callLanguageModel, type Part } from "./call-language-model.ts";
import { failureOf } from "./failure.ts";
import { findPackage } from "./find-package.ts";
import { openModels } from "./open-models.ts";

const HERE = import.meta.dirname;

test("a package is found, opened, and its faults are told by name", async () => {
  expect(findPackage("@ai-sdk/openai", HERE)).toContain("openai");
  expect(findPackage("@ai-sdk/nowhere", HERE)).toBeNull();
  const models = await openModels("@ai-sdk/openai", null, { apiKey: "k" }, HERE);
  expect(models.language("gpt-x").modelId).toBe("gpt-x");
  await expect(openModels("@ai-sdk/nowhere", null, {}, HERE)).rejects.toThrow("npm install @ai-sdk/nowhere");
  await expect(openModels("@ai-sdk/openai", "createNothing", {}, HERE)).rejects.toThrow("no function createNothing");
});

test.each([
  [{ name: "AI_APICallError", statusCode: 429, responseBody: "{}", responseHeaders: { a: "b" } }, "http"],
  [{ name: "AI_UnsupportedFunctionalityError" }, "http"],
  [{ name: "AI_APICallError", cause: { cause: { code: "ECONNREFUSED" } } }, "connect"],
  [{ name: "AI_APICallError" }, "reset"],
  [{ name: "AI_APICallError", statusCode: 200 }, "protocol"],
])("%j is %s", (error, kind) => {
  expect(failureOf(Object.assign(new Error("said"), error)).kind).toBe(kind);
});

test("addresses of files go on only where the provider fetches them", async () => {
  const prompts: unknown[] = [];
  const model = {
    specificationVersion: "v2",
    provider: "fake",
    supportedUrls: { "image/*": [/^https:/] },
    doGenerate: async ({ prompt }: { prompt: unknown }) => {
      prompts.push(prompt);
      return { content: [], finishReason: "stop", usage: {}, warnings: [] };
    },
  } as unknown as LanguageModelV2;
  const ask = async (url: string): Promise<Part[]> => {
    const parts: Part[] = [];
    const content = [{ type: "file", mediaType: "image/png", url }];
    const options = { prompt: [{ role: "user", content }] };
    const signal = new AbortController().signal;
    for await (const part of callLanguageModel(model, { options, stream: false, headers: {}, signal }))
      parts.push(part);
    return parts;
  };
  expect((await ask("https://x/y.png")).map(({ type }) => type)).toEqual(["headers", "stream-start", "reply"]);
  expect(prompts).toEqual([
    [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: new URL("https://x/y.png") }] }],
  ]);
  await expect(ask("http://x/y.png")).rejects.toThrow("send its bytes");
});
