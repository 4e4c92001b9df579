import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LanguageModelV2 } from "@ai-sdk/provider";
import { describe, expect, onTestFinished, test } from "vitest";
import { callLanguageModel, type Part } from "./call-language-model.ts";
import { failureOf } from "./failure.ts";
import { findPackage } from "./find-package.ts";
import { openModels, packageFault } from "./open-models.ts";

const HERE = import.meta.dirname;

test("a package is found, opened, and its faults are told by name", async () => {
  expect(findPackage("@ai-sdk/openai", HERE)).toContain("openai");
  expect(findPackage("@ai-sdk/nowhere", HERE)).toBeNull();
  const models = await openModels("@ai-sdk/openai", null, { apiKey: "k" }, HERE);
  expect(models.language("gpt-x").modelId).toBe("gpt-x");
  await expect(openModels("@ai-sdk/nowhere", null, {}, HERE)).rejects.toThrow("npm install @ai-sdk/nowhere");
  await expect(openModels("@ai-sdk/openai", "createNothing", {}, HERE)).rejects.toThrow("no function createNothing");
});

describe("before it is called, a package", () => {
  /** A folder with these packages, whose only file is `index.js`. */
  const folderWith = (packages: Record<string, { type: string; code: string }>): string => {
    const folder = mkdtempSync(join(tmpdir(), "sluicegate-packages-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const [name, { type, code }] of Object.entries(packages)) {
      const at = join(folder, "node_modules", name);
      mkdirSync(at, { recursive: true });
      writeFileSync(join(at, "package.json"), JSON.stringify({ name, type, exports: { import: "./index.js" } }));
      writeFileSync(join(at, "index.js"), code);
    }
    return folder;
  };

  test.each([
    ["@ai-sdk/openai", null, null],
    ["@ai-sdk/openai", "createOpenAI", null],
    ["@ai-sdk/openai", "createNothing", "the package @ai-sdk/openai exports no function createNothing"],
    ["@ai-sdk/openai", "VERSION", "the package @ai-sdk/openai exports no function VERSION"],
    ["@ai-sdk/nowhere", null, "the package @ai-sdk/nowhere is not installed: npm install @ai-sdk/nowhere"],
  ])("%s with export %j: %j", (name, exportName, fault) => {
    expect(packageFault(name, exportName, HERE)).toBe(fault);
  });

  test("of modules is looked into as well, and one that does not load says why", () => {
    const folder = folderWith({
      two: { type: "module", code: "export const createA = () => {}; export function createB() {}" },
      none: { type: "module", code: "export const version = 1" },
      broken: { type: "module", code: 'throw new Error("no such runtime\\nsecond line")' },
      waits: { type: "module", code: "await null; export const createA = () => {}" },
    });
    expect(packageFault("two", null, folder)).toBe("the package two exports createA, createB: name one with `export`");
    expect(packageFault("two", "createB", folder)).toBeNull();
    expect(packageFault("none", null, folder)).toContain("exports no function create…: name one");
    expect(packageFault("broken", null, folder)).toBe("the package broken cannot be loaded: no such runtime");
    expect(packageFault("waits", "createNothing", folder)).toBeNull();
  });
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
