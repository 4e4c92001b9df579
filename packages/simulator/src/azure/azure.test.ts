import { AzureOpenAI } from "openai";
import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

const HELLO = { messages: [{ role: "user" as const, content: "alpha beta gamma" }] };

function post(simulator: Simulator, path: string, body: object, headers: Record<string, string> = {}) {
  return fetch(simulator.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "api-key": "k", ...headers },
  });
}

async function answer(simulator: Simulator, path: string, body: object): Promise<Loose> {
  return (await post(simulator, path, body)).json();
}

const PATH = "/openai/deployments/echo/chat/completions?api-version=2024-10-21";

describe("Azure's own library", () => {
  test("is answered, JSON and events, with what the filters found", async () => {
    const simulator = await simulate();
    const azure = new AzureOpenAI({ endpoint: simulator.url, apiKey: "k", apiVersion: "2024-10-21", maxRetries: 0 });
    const whole: Loose = await azure.chat.completions.create({ ...HELLO, model: "echo" });
    expect(whole.choices[0].message.content).toBe("alpha beta gamma");
    expect(whole.choices[0].content_filter_results.violence).toEqual({ filtered: false, severity: "safe" });
    expect(whole.prompt_filter_results).toHaveLength(1);
    const chunks: Loose[] = [];
    for await (const chunk of await azure.chat.completions.create({ ...HELLO, model: "echo", stream: true }))
      chunks.push(chunk);
    expect(chunks[0]).toMatchObject({ id: "", model: "", choices: [], prompt_filter_results: [{ prompt_index: 0 }] });
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    expect(text).toBe("alpha beta gamma");
    expect(simulator.requests().recent.at(-1)?.path).toBe("/openai/deployments/echo/chat/completions");
  });

  test("embeds, and finds its responses again", async () => {
    const simulator = await simulate();
    const azure = new AzureOpenAI({ endpoint: simulator.url, apiKey: "k", apiVersion: "2025-04-01-preview" });
    expect((await azure.embeddings.create({ model: "echo", input: "a" })).data).toHaveLength(1);
    const made = await azure.responses.create({ model: "echo", input: "alpha" });
    expect((await azure.responses.retrieve(made.id)).output_text).toBe("alpha");
  });
});

describe("a version", () => {
  test.each([
    ["is wanted by deployments", "/openai/deployments/echo/chat/completions", 404, "404"],
    ["has to be one", "/openai/deployments/echo/chat/completions?api-version=new", 400, "BadRequest"],
    ["is wanted by Responses", "/openai/responses", 404, "404"],
    ["of a date is not for v1", "/openai/v1/chat/completions?api-version=2024-10-21", 400, "BadRequest"],
  ])("%s", async (_, path, status, code) => {
    const simulator = await simulate();
    const response = await post(simulator, path, { ...HELLO, model: "echo", input: "a" });
    expect(response.status).toBe(status);
    expect(((await response.json()) as Loose).error.code).toBe(code);
  });

  test("is not wanted by v1, where the body names the deployment", async () => {
    const simulator = await simulate();
    const body = { ...HELLO, model: "echo" };
    for (const path of ["/openai/v1/chat/completions", "/openai/v1/chat/completions?api-version=preview"]) {
      expect((await answer(simulator, path, body)).choices[0].message.content).toBe("alpha beta gamma");
    }
  });
});

describe("Azure's errors", () => {
  test.each([
    ["filter", 400, { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } }],
    ["missing", 404, { code: "DeploymentNotFound" }],
    ["badkey", 401, { code: "401" }],
    ["error%3Fstatus=500", 500, { code: "InternalServerError" }],
    ["context", 400, { code: "context_length_exceeded" }],
    ["error%3Fstatus=429%26shape=azure", 429, { code: "rate_limit_exceeded" }],
  ])("%s", async (model, status, error) => {
    const simulator = await simulate();
    const path = `/openai/deployments/${model}/chat/completions?api-version=2024-10-21`;
    const response = await post(simulator, path, HELLO);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error });
    expect(response.headers.get("apim-request-id")).toMatch(/^apim-/);
  });

  test("a key is wanted, in either header", async () => {
    const simulator = await simulate();
    const bare = await fetch(simulator.url + PATH, { method: "POST", body: JSON.stringify(HELLO) });
    expect(bare.status).toBe(401);
    expect((await post(simulator, PATH, HELLO, { "api-key": "bad-key" })).status).toBe(401);
    const bearer = { authorization: "Bearer entra" };
    const init = { method: "POST", body: JSON.stringify(HELLO), headers: bearer };
    expect((await fetch(simulator.url + PATH, init)).status).toBe(200);
  });
});
