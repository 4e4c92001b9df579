import { describe, expect, test } from "vitest";
import { aDeployment } from "../config/fixtures/parts.ts";
import type { ProviderConfig } from "../config/snapshot.ts";
import { inOnePiece } from "../core/pieces.ts";
import { Secret } from "../core/secret.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import { openaiResponses } from "../protocols/openai-responses/index.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { openCrossing } from "../protocols/translate.ts";
import type { Authenticated } from "./authenticator.ts";
import { type CompatibleServer, compatibleServer, openaiCompatible } from "./openai-compatible.ts";
import { jsonProvider, type Provider, spokenBy } from "./provider.ts";

const CONFIG: ProviderConfig = {
  ...{ name: "made-up", kind: "openai-compatible", preset: null, baseUrl: null },
  ...{ apiKey: new Secret("key", "test"), auth: null, headers: {}, forwardHeaders: [] },
  ...{ connections: 1, tls: null, proxy: null },
};
const DEPLOYMENT = aDeployment("d", { provider: "made-up", model: "m-1" });

/** A vendor that nobody has heard of: all that this build has to be told of it. */
const MADE_UP: CompatibleServer = {
  baseUrl: "https://api.made-up.example/openai/v7",
  keyVariable: "MADE_UP_API_KEY",
  needsKey: true,
  selfHosted: false,
  apis: ["chat"],
  maxTokensField: "max_completion_tokens",
  streamOptions: false,
  reasoningInOutput: false,
  keyedList: true,
  refuses: ["n", "images"],
  takes: { reasoning_effort: /^m-/, history_reasoning: true },
  efforts: ["low", "high"],
  stopMax: 2,
};

function requestOf(provider: Provider, client: Protocol, body: Record<string, unknown>) {
  const raw = Buffer.from(JSON.stringify(body));
  const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
  const call = client.decodeRequest({ raw, header, path: { query: "" } });
  const protocol = provider.protocols[0] ?? openaiChat;
  const crossing = protocol === client ? null : openCrossing(client, call);
  const { request, dropped } = provider.request({
    ...{ call, protocol, crossing, header, deployment: DEPLOYMENT, pool: "d" },
  });
  if (request instanceof Promise) throw new Error("its key is at hand");
  const target = { model: "m-1", quirks: provider.quirks, maxOutputTokens: null };
  return {
    ...request,
    body: JSON.parse(String(request.body && inOnePiece(request.body))) as unknown,
    dropped,
    crossing,
    protocol,
    target,
  };
}

describe("a made-up server is a row", () => {
  const provider = compatibleServer(CONFIG, MADE_UP);

  test("a client's own bytes go to its address, in its spellings", () => {
    const sent = requestOf(provider, openaiChat, {
      ...{ model: "alias", messages: [{ role: "user", content: "hi" }], max_tokens: 5, x: 1 },
      ...{ stream: true, stream_options: { include_usage: true } },
    });
    expect(sent.origin + sent.path).toBe("https://api.made-up.example/openai/v7/chat/completions");
    expect(sent.headers.join(" ")).toContain("authorization Bearer key");
    expect(sent.body).toEqual({
      ...{ model: "m-1", messages: [{ role: "user", content: "hi" }], max_completion_tokens: 5, x: 1, stream: true },
    });
  });

  test("a call of another dialect is told in what it takes", () => {
    const sent = requestOf(provider, openaiResponses, {
      ...{ model: "alias", input: "hi", max_output_tokens: 5, reasoning: { effort: "medium" }, user: "u" },
    });
    expect(sent.body).toEqual({
      ...{ model: "m-1", messages: [{ role: "user", content: "hi" }], max_completion_tokens: 5 },
      reasoning_effort: "low",
    });
    expect(sent.dropped).toContain("user");
  });

  test("what it refuses takes it out of the chain", () => {
    const image = { type: "input_image", image_url: "https://x/y.png" };
    const sent = requestOf(provider, openaiResponses, {
      ...{ model: "alias", input: [{ role: "user", content: [image] }] },
    });
    expect(sent.crossing?.inexpressible(sent.protocol, sent.target)).toEqual(["input.content.input_image"]);
  });

  test("its answers are counted its way, and its list of models is asked", () => {
    const usage = {
      ...{ prompt_tokens: 3, completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 2 } },
    };
    const body = { choices: [{ message: { content: "hi" }, finish_reason: "stop" }], usage };
    const facts = openaiChat.readReply(Buffer.from(JSON.stringify(body)), provider.quirks, 0, "application/json");
    expect(facts.usage).toMatchObject({ output_tokens: 3, reasoning_tokens: 2 });
    expect(provider.listModels?.({ pool: "d", connectTimeoutMs: 1 }).request).toMatchObject({
      ...{ method: "GET", path: "/openai/v7/models" },
    });
  });
});

describe("xAI's models that think", () => {
  const xai = openaiCompatible({ ...CONFIG, preset: "xai" });

  test.each([
    ["grok-4.5", ["stop", "frequency_penalty", "presence_penalty"]],
    ["grok-4-1-fast-non-reasoning", []],
    ["grok-3", []],
  ])("%s cannot be told %j", (model, fields) => {
    const raw = Buffer.from(
      JSON.stringify({
        ...{ model: "a", messages: [{ role: "user", content: "hi" }], stop: "x" },
        ...{ frequency_penalty: 1, presence_penalty: 1 },
      }),
    );
    const header = (name: string): string | undefined => (name === "content-type" ? "application/json" : undefined);
    const crossing = openCrossing(openaiChat, openaiChat.decodeRequest({ raw, header, path: { query: "" } }));
    const target = { model, quirks: xai.quirks, maxOutputTokens: null };
    expect(crossing?.inexpressible(openaiChat, target)).toEqual(fields);
  });
});

describe("a server without a preset", () => {
  const provider = openaiCompatible({ ...CONFIG, baseUrl: "http://127.0.0.1:9/v1" });

  test.each([
    [null, false],
    ["chat", false],
    ["responses", true],
  ])("spoken to by api %s has the Responses API: %s", (api, has) => {
    expect(spokenBy(provider, { model: "m", api }).includes(openaiResponses)).toBe(has);
  });
});

describe("a credential that changes", () => {
  const bearing = (key: string): Authenticated => ({ headers: ["authorization", `Bearer ${key}`], use: null });
  const [one, two, again] = [bearing("one"), bearing("two"), bearing("two")];

  test("is on the next call, and the same one makes the same list of headers", () => {
    let now = one;
    const authenticator = { current: null, authenticate: () => now, refused: () => {}, close: () => {} };
    const quirks = compatibleServer(CONFIG, MADE_UP).quirks;
    const parts = {
      config: CONFIG,
      baseUrl: "https://api.made-up.example/v1",
      quirks,
      protocols: [openaiChat],
      authenticator,
    };
    const provider = jsonProvider(parts);
    const sent = (): string[] => {
      const body = { model: "a", messages: [{ role: "user", content: "hi" }] };
      return requestOf(provider, openaiChat, body).headers;
    };
    const first = sent();
    expect(sent()).toBe(first);
    const seen = [two, again, one].map((credential) => {
      now = credential;
      return sent().slice(-2);
    });
    expect([first.slice(-2), ...seen]).toEqual([one, two, again, one].map(({ headers }) => headers));
  });
});
