import { AuthenticationError, AzureOpenAI, NotFoundError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_KEY, configOf, startTestGateway, type TestGateway } from "./support/gateway.ts";

const DEPLOYMENTS = `
deployments:
  claude: { provider: sim, model: echo, api: messages }
`;

describe("classes for Azure OpenAI", () => {
  let gateway: TestGateway;
  const client = (options: { apiKey?: string; deployment?: string; apiVersion?: string } = {}): AzureOpenAI =>
    new AzureOpenAI({ endpoint: gateway.url, apiKey: CLIENT_KEY, apiVersion: "2024-10-21", maxRetries: 0, ...options });

  beforeAll(async () => {
    const config = configOf({
      default: ["sim/echo"],
      "team/a:b+c": ["sim/echo"],
      abroad: ["claude"],
      emb: ["sim/echo"],
    });
    gateway = await startTestGateway({ config: config + DEPLOYMENTS });
  });
  afterAll(() => gateway.close());

  const hello = { messages: [{ role: "user" as const, content: "Good day" }] };

  test.each(["default", "abroad", "team/a:b+c"])("find alias %j in the path", async (alias) => {
    const answer = await client({ deployment: alias }).chat.completions.create({ ...hello, model: "" });
    expect(answer.choices[0]?.message.content).toBe("Good day");
    const stream = await client({ deployment: alias }).chat.completions.create({ ...hello, model: "", stream: true });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text).toBe("Good day");
  });

  test("name it in the body as well, and the path wins", async () => {
    const answer = await client().chat.completions.create({ ...hello, model: "default" });
    expect(answer.choices[0]?.message.content).toBe("Good day");
    const path = "/openai/deployments/default/chat/completions?api-version=2024-10-21";
    const bare = await gateway.post(
      { ...hello, model: "nobody" },
      { path, key: null, headers: { "api-key": CLIENT_KEY } },
    );
    expect(bare.status).toBe(200);
    expect(bare.headers.get("x-sluicegate-alias")).toBe("default");
  });

  test("embed and speak Responses, on the v1 surface too", async () => {
    const embedded = await client({ deployment: "emb" }).embeddings.create({ model: "", input: "a" });
    expect(embedded.data).toHaveLength(1);
    const response = await client({ apiVersion: "preview" }).responses.create({ model: "default", input: "Good day" });
    expect(response.output_text).toBe("Good day");
    const path = "/openai/v1/chat/completions";
    expect((await gateway.post({ ...hello, model: "default" }, { path })).status).toBe(200);
  });

  test("see errors of their own classes", async () => {
    await expect(client({ deployment: "nobody" }).chat.completions.create({ ...hello, model: "" })).rejects.toThrow(
      NotFoundError,
    );
    const stranger = client({ apiKey: "sg_wrong_key", deployment: "default" });
    await expect(stranger.chat.completions.create({ ...hello, model: "" })).rejects.toThrow(AuthenticationError);
  });
});
