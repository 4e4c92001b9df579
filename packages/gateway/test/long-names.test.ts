import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";

// Names that clients make up are remembered for a while: a deployment made on the fly, the length of its answers, its alerts.
const MAX = 512;

const chat = JSON.stringify({ messages: [{ role: "user", content: "hi" }] });
const gemini = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "hi" }] }] });

describe("a model that is named in the path", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const ask = (path: string, body: string): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${CLIENT_KEY}`, "content-type": "application/json" },
      body,
    });
  const doors: [string, (name: string) => string, string][] = [
    ["Azure's", (name) => `/openai/deployments/${name}/chat/completions`, chat],
    ["Gemini's", (name) => `/v1beta/models/${name}:generateContent`, gemini],
    ["Gemini's streams", (name) => `/v1beta/models/${name}:streamGenerateContent?alt=sse`, gemini],
    ["Gemini's counts", (name) => `/v1beta/models/${name}:countTokens`, gemini],
  ];

  test.each(doors)("%s may be as long as one in a body, and no longer", async (_, path, body) => {
    const name = (length: number): string => encodeURIComponent("sim/echo?tag=".padEnd(length, "n"));
    const long = await ask(path(name(MAX + 1)), body);
    expect([long.status, await long.text()]).toEqual([400, expect.stringContaining("at most 512 characters")]);
    const fits = await ask(path(name(MAX)), body);
    expect([fits.status, await fits.text()]).toEqual([200, expect.any(String)]);
  });
});
