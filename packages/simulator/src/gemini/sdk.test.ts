import { ApiError, GoogleGenAI, Type } from "@google/genai";
import { expect, test } from "vitest";
import { simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

function client(simulator: Simulator): GoogleGenAI {
  return new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: simulator.url } });
}

const contents = [{ role: "user", parts: [{ text: "alpha beta gamma" }] }];
const weather = {
  name: "weather",
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
};

test("the official client streams thought, text and usage", async () => {
  const google = client(await simulate());
  let text = "";
  let thought = "";
  let total: number | undefined;
  const config = { thinkingConfig: { includeThoughts: true, thinkingBudget: 100 } };
  for await (const chunk of await google.models.generateContentStream({ model: "echo", contents, config })) {
    for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
      if (part.thought === true) thought += part.text ?? "";
      else text += part.text ?? "";
    }
    total = chunk.usageMetadata?.totalTokenCount;
  }
  expect([text, thought.trim().split(" ").length, total]).toEqual(["alpha beta gamma", 20, 28]);
});

test("its tool loop ends, its chat hands signatures back, tokens count, texts embed, models list", async () => {
  const google = client(await simulate());
  const config = { tools: [{ functionDeclarations: [weather] }] };
  const chat = google.chats.create({ model: "gemini-3-pro", config });
  const first = await chat.sendMessage({ message: "go", config: { ...config, toolConfig: ANY } });
  expect(first.functionCalls).toMatchObject([{ name: "weather", args: { city: "sample" } }]);
  const answer = { functionResponse: { name: "weather", response: { output: "12 degrees" } } };
  const second = await chat.sendMessage({ message: [answer], config });
  expect(second.text).toBe("12 degrees");
  expect((await google.models.countTokens({ model: "echo", contents })).totalTokens).toBe(4);
  const embedded = await google.models.embedContent({
    model: "e",
    contents: ["a", "b"],
    config: { outputDimensionality: 8 },
  });
  expect(embedded.embeddings?.map(({ values }) => values?.length)).toEqual([8, 8]);
  const models = await google.models.list({ config: { pageSize: 5 } });
  expect(models.page.map((model) => model.name)).toContain("models/echo");
});

const ANY = { functionCallingConfig: { mode: "ANY" as never } };

test("errors carry Google's frame", async () => {
  const google = client(await simulate());
  const ask = (model: string) => google.models.generateContent({ model, contents });
  await expect(ask("missing")).rejects.toBeInstanceOf(ApiError);
  await expect(ask("quota")).rejects.toMatchObject({ status: 429, message: expect.stringContaining("PerDay") });
  const blocked = await ask("blocked");
  expect([blocked.promptFeedback?.blockReason, blocked.text]).toEqual(["SAFETY", undefined]);
});
