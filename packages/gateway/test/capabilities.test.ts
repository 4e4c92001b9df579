import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CAPABILITIES, type Capability } from "../src/core/call.ts";
import { faultLog } from "./support/fault-log.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { chatAnswer, startUpstream, type Upstream } from "./support/upstream.ts";

/*
 * Requests only go to deployments that can do what they ask (ruling 8) and take all of it (ROUTE-6), whatever the client's
 * dialect; deployments that end say so; names that may move are watched (ROUTE-1).
 */

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = Buffer.from("%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF").toString("base64");
const WAV = Buffer.from("RIFF\x24\0\0\0WAVEfmt ").toString("base64");
const OBJECT = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

type Asked = Record<string, unknown>;

const chatUser = (content: unknown): Asked => ({ messages: [{ role: "user", content }] });
const chatCall = (id: string): Asked => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
const CHAT: Partial<Record<Capability, [body: Asked, param: string]>> = {
  tools: [{ ...chatUser("hi"), tools: [{ type: "function", function: { name: "f", parameters: OBJECT } }] }, "tools"],
  parallel_tools: [
    {
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: null, tool_calls: [chatCall("call_a"), chatCall("call_b")] },
        { role: "tool", tool_call_id: "call_a", content: "1" },
        { role: "tool", tool_call_id: "call_b", content: "2" },
      ],
    },
    "tools",
  ],
  vision: [
    chatUser([{ type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }]),
    "messages.content.image_url",
  ],
  documents: [
    chatUser([{ type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` } }]),
    "messages.content.file",
  ],
  audio: [
    chatUser([{ type: "input_audio", input_audio: { data: WAV, format: "wav" } }]),
    "messages.content.input_audio",
  ],
  json_schema: [
    {
      ...chatUser("hi"),
      response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema: OBJECT } },
    },
    "response_format",
  ],
  logprobs: [{ ...chatUser("hi"), logprobs: true, top_logprobs: 2 }, "logprobs"],
  n: [{ ...chatUser("hi"), n: 2 }, "n"],
};

const inputUser = (content: unknown): Asked => ({ input: [{ role: "user", content }] });
const inputCall = (id: string): Asked => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
const inputResult = (id: string): Asked => ({ type: "function_call_output", call_id: id, output: "1" });
const RESPONSES: typeof CHAT = {
  tools: [{ input: "hi", tools: [{ type: "function", name: "f", parameters: OBJECT, strict: true }] }, "tools"],
  parallel_tools: [
    {
      input: [
        { role: "user", content: "hi" },
        ...["call_a", "call_b"].map(inputCall),
        ...["call_a", "call_b"].map(inputResult),
      ],
    },
    "tools",
  ],
  vision: [
    inputUser([{ type: "input_image", image_url: `data:image/png;base64,${PNG}`, detail: "auto" }]),
    "input.content.input_image",
  ],
  documents: [
    inputUser([{ type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` }]),
    "input.content.input_file",
  ],
  json_schema: [
    { input: "hi", text: { format: { type: "json_schema", name: "place", schema: OBJECT, strict: true } } },
    "text.format",
  ],
  logprobs: [{ input: "hi", top_logprobs: 2, include: ["message.output_text.logprobs"] }, "top_logprobs"],
};

const turns = (content: unknown): Asked => ({ max_tokens: 100, ...chatUser(content) });
const toolUse = (id: string): Asked => ({ type: "tool_use", id, name: "f", input: {} });
const toolResult = (id: string): Asked => ({ type: "tool_result", tool_use_id: id, content: "1" });
const base64 = (mediaType: string, data: string): Asked => ({ type: "base64", media_type: mediaType, data });
const MESSAGES: typeof CHAT = {
  tools: [{ ...turns("hi"), tools: [{ name: "f", input_schema: OBJECT }] }, "tools"],
  parallel_tools: [
    {
      max_tokens: 100,
      tools: [{ name: "f", input_schema: OBJECT }],
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: ["toolu_a", "toolu_b"].map(toolUse) },
        { role: "user", content: ["toolu_a", "toolu_b"].map(toolResult) },
      ],
    },
    "tools",
  ],
  vision: [turns([{ type: "image", source: base64("image/png", PNG) }]), "messages.content.image"],
  documents: [turns([{ type: "document", source: base64("application/pdf", PDF) }]), "messages.content.document"],
  json_schema: [
    { ...turns("hi"), output_config: { format: { type: "json_schema", schema: OBJECT } } },
    "output_config.format",
  ],
};

const contents = (...parts: Asked[]): Asked => ({ contents: [{ role: "user", parts }] });
const inline = (mimeType: string, data: string): Asked => ({ inlineData: { mimeType, data } });
const GENERATE: typeof CHAT = {
  tools: [{ ...contents({ text: "hi" }), tools: [{ functionDeclarations: [{ name: "f" }] }] }, "tools"],
  parallel_tools: [
    {
      contents: [
        { role: "user", parts: [{ text: "hi" }] },
        { role: "model", parts: ["f", "g"].map((name) => ({ functionCall: { name, args: {} } })) },
        { role: "user", parts: ["f", "g"].map((name) => ({ functionResponse: { name, response: { output: "1" } } })) },
      ],
    },
    "tools",
  ],
  vision: [contents(inline("image/png", PNG)), "contents.parts.inlineData"],
  documents: [contents(inline("application/pdf", PDF)), "contents.parts.inlineData"],
  audio: [contents(inline("audio/wav", WAV)), "contents.parts.inlineData"],
  json_schema: [
    {
      ...contents({ text: "hi" }),
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: OBJECT },
    },
    "generationConfig.responseMimeType",
  ],
  logprobs: [
    { ...contents({ text: "hi" }), generationConfig: { responseLogprobs: true, logprobs: 2 } },
    "generationConfig.responseLogprobs",
  ],
  n: [{ ...contents({ text: "hi" }), generationConfig: { candidateCount: 2 } }, "generationConfig.candidateCount"],
};

const DIALECTS = [
  { dialect: "chat", path: () => "/v1/chat/completions", cases: CHAT, plain: chatUser },
  { dialect: "responses", path: () => "/v1/responses", cases: RESPONSES, plain: inputUser },
  { dialect: "messages", path: () => "/v1/messages", cases: MESSAGES, plain: turns },
  {
    dialect: "generate",
    path: (alias: string) => `/v1beta/models/${alias}:generateContent`,
    cases: GENERATE,
    plain: (text: unknown) => contents({ text }),
  },
];

const NEEDS = CAPABILITIES.map((need) => [need, CAPABILITIES.filter((other) => other !== need)] as const);
const hyphened = (need: Capability): string => need.replaceAll("_", "-");

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    config: [
      "providers:",
      "  sim: { kind: simulator, base_url: SIMULATOR }",
      "  claude: { kind: anthropic, base_url: 'SIMULATOR_HOST', api_key: 'env:ANY' }",
      "deployments:",
      `  able: { provider: sim, model: echo, capabilities: [${CAPABILITIES.join(", ")}] }`,
      ...NEEDS.map(
        ([need, rest]) => `  no-${hyphened(need)}: { provider: sim, model: echo, capabilities: [${rest.join(", ")}] }`,
      ),
      "  small: { provider: sim, model: echo, context_window: 1000 }",
      "  middle: { provider: sim, model: echo, context_window: 2000, capabilities: [] }",
      "  large: { provider: sim, model: echo, context_window: 1000000 }",
      "  ending: { provider: sim, model: echo, retires: 2099-03-01 }",
      "  haiku: { provider: claude, model: claude-haiku-4-5-20251001 }",
      "routes:",
      ...NEEDS.map(([need]) => `  either-${hyphened(need)}: { chain: [no-${hyphened(need)}, able] }`),
      ...NEEDS.map(([need]) => `  only-${hyphened(need)}: { chain: [no-${hyphened(need)}] }`),
      "  grown: { chain: [small, large] }",
      "  small: { chain: [small, middle] }",
      "  ending: { chain: [ending] }",
      "  haiku: { chain: [haiku] }",
      "  loose: { chain: [haiku], drop_unsupported: true }",
      "tenants: { default: { models: { allow: ['*'] } } }",
      "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
    ].join("\n"),
    variables: { ANY: "sk-ant-test-0123456789" },
  });
});

afterAll(() => gateway.close());

/** What an error says, in whichever dialect. */
async function refusal(response: Response): Promise<{ code: string; message: string; param: string | null }> {
  const body = (await response.json()) as { error: Record<string, unknown> };
  const { error } = body;
  const details = Array.isArray(error["details"]) ? (error["details"] as Record<string, unknown>[]) : [];
  const [violation] = details.flatMap((detail) => (detail["fieldViolations"] as { field: string }[]) ?? []);
  return {
    code: String(details.length > 0 ? details[0]?.["reason"] : error["code"]),
    message: String(error["message"]),
    param: (error["param"] ?? violation?.field ?? null) as string | null,
  };
}

describe.each(DIALECTS)("in the $dialect dialect", ({ path, cases, plain }) => {
  const entries = Object.entries(cases).map(([need, [body, param]]) => ({ need: need as Capability, body, param }));

  test.each(entries)("$need goes where it can be had", async ({ need, body }) => {
    const alias = `either-${hyphened(need)}`;
    const response = await gateway.post({ model: alias, ...body }, { path: path(alias) });
    expect([response.status, response.status === 200 ? "" : await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("x-sluicegate-deployment")).toBe("able");
  });

  test.each(entries)("$need is refused where nobody has it, and the field is named", async ({ need, body, param }) => {
    const alias = `only-${hyphened(need)}`;
    const response = await gateway.post({ model: alias, ...body }, { path: path(alias) });
    expect(response.status).toBe(400);
    const said = await refusal(response);
    expect(said).toMatchObject({ code: "unsupported_feature", param });
    expect(said.message).toContain(`no-${hyphened(need)} (lacks ${need})`);
  });

  test("what needs nothing goes anywhere", async () => {
    for (const [need] of NEEDS) {
      const alias = `only-${hyphened(need)}`;
      const response = await gateway.post({ model: alias, ...plain("hi") }, { path: path(alias) });
      expect(response.status, need).toBe(200);
    }
  });

  test("what is too long goes to a larger window, and is refused where there is none", async () => {
    const text = "a rather long conversation ".repeat(1_000);
    const grown = await gateway.post({ model: "grown", ...plain(text) }, { path: path("grown") });
    expect(grown.headers.get("x-sluicegate-deployment")).toBe("large");
    const refused = await gateway.post({ model: "small", ...plain(text) }, { path: path("small") });
    expect(refused.status).toBe(400);
    const { code, message } = await refusal(refused);
    expect(code).toBe("context_length_exceeded");
    // What client libraries look for: LangChain's in JavaScript the one, in Python the other.
    expect(message).toContain("maximum context length");
    expect(message).toContain("prompt is too long");
    expect(message).toContain(
      "2000 tokens: small (its window of 1000 tokens is too small), middle (its window of 2000",
    );
  });

  test("what may fit is let through", async () => {
    const text = "a rather long conversation ".repeat(180);
    const response = await gateway.post({ model: "grown", ...plain(text) }, { path: path("grown") });
    expect(response.headers.get("x-sluicegate-deployment")).toBe("small");
  });
});

describe("lengths", () => {
  const long = "a rather long conversation ".repeat(1_000);

  test("Anthropic's clients find the words they look for", async () => {
    const response = await gateway.post({ model: "small", ...turns(long) }, { path: "/v1/messages" });
    expect((await refusal(response)).message).toMatch(
      /^prompt is too long: the request, at least 33\d\d tokens of input and 100 of output, /,
    );
  });

  test("the output that is asked for counts", async () => {
    const response = await gateway.post({ model: "grown", ...chatUser("hi"), max_tokens: 1_000 });
    expect(response.headers.get("x-sluicegate-deployment")).toBe("large");
  });

  test("images are no text", async () => {
    const image = `data:image/png;base64,${PNG.repeat(200)}`;
    const response = await gateway.post({
      model: "grown",
      ...chatUser([{ type: "image_url", image_url: { url: image } }]),
    });
    expect(response.headers.get("x-sluicegate-deployment")).toBe("small");
  });

  test.each([
    ["/v1/responses", { ...inputUser(long), truncation: "auto" }],
    ["/v1/messages", { ...turns(long), context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } }],
    ["/v1/chat/completions", { ...chatUser(long), transforms: ["middle-out"] }],
  ])("%s lets the provider shorten", async (path, body) => {
    const headers = { "anthropic-beta": "context-management-2025-06-27" };
    const response = await gateway.post({ model: "grown", ...body }, { path, headers });
    expect(response.headers.get("x-sluicegate-deployment")).toBe("small");
  });

  test("counting is no asking", async () => {
    const body = { model: "small", ...chatUser(long), tools: [{ name: "f", input_schema: OBJECT }] };
    const response = await gateway.post(body, { path: "/v1/messages/count_tokens" });
    expect(response.status).toBe(200);
  });
});

describe("endpoints beside chat", () => {
  const json = (path: string, body: Asked) => (alias: string) => gateway.post({ model: alias, ...body }, { path });
  const asks: [Capability, (alias: string) => Promise<Response>][] = [
    ["embeddings", json("/v1/embeddings", { input: "hi" })],
    ["images", json("/v1/images/generations", { prompt: "a cat" })],
    ["speech", json("/v1/audio/speech", { input: "hi", voice: "alloy" })],
    [
      "transcription",
      (alias) => {
        const boundary = "----the-boundary";
        const field = (name: string, more: string, value: string): string =>
          `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
        const raw = `${field("model", "", alias)}${field("file", '; filename="a.wav"', "RIFF")}--${boundary}--\r\n`;
        const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
        return gateway.post(null, { path: "/v1/audio/transcriptions", raw, headers });
      },
    ],
  ];

  test.each(asks)("%s", async (need, ask) => {
    const served = await ask(`either-${need}`);
    expect([served.status, served.headers.get("x-sluicegate-deployment")]).toEqual([200, "able"]);
    const refused = await ask(`only-${need}`);
    expect(refused.status).toBe(400);
    expect(await refusal(refused)).toMatchObject({ code: "unsupported_feature", param: "model" });
  });
});

describe("what the catalogue says", () => {
  test("holds for a deployment of which the config says nothing", async () => {
    const body = chatUser([{ type: "input_audio", input_audio: { data: WAV, format: "wav" } }]);
    const response = await gateway.post({ model: "haiku", ...body });
    expect(response.status).toBe(400);
    expect(await refusal(response)).toMatchObject({
      code: "unsupported_feature",
      param: "messages.content.input_audio",
    });
  });

  test("leaves to the route what it lets drop on the way to another dialect", async () => {
    const body = { ...chatUser("hi"), logprobs: true };
    const refused = await gateway.post({ model: "haiku", ...body });
    expect(await refusal(refused)).toMatchObject({ code: "unsupported_feature", param: "logprobs" });
    const served = await gateway.post({ model: "loose", ...body });
    expect(served.status).toBe(200);
    expect(served.headers.get("x-sluicegate-dropped")).toContain("logprobs");
  });
});

describe("a deployment that retires", () => {
  test.each([false, true])("says so on its answers (stream: %s)", async (stream) => {
    const response = await gateway.post({ model: "ending", ...chatUser("hi"), stream });
    await response.text();
    expect(response.headers.get("sunset")).toBe("Sun, 01 Mar 2099 00:00:00 GMT");
    expect(response.headers.get("deprecation")).toBe(`@${Date.parse("2099-01-30T00:00:00Z") / 1_000}`);
  });

  test("and no other does", async () => {
    const response = await gateway.post({ model: "grown", ...chatUser("hi") });
    expect([response.headers.get("sunset"), response.headers.get("deprecation")]).toEqual([null, null]);
  });
});

describe("names", () => {
  let upstream: Upstream;
  let pinned: TestGateway;
  const log = faultLog();

  beforeAll(async () => {
    upstream = await startUpstream();
    pinned = await startTestGateway({
      config: [
        "gateway: { strict_pins: true }",
        `providers: { up: { kind: openai, base_url: '${upstream.url}/v1', api_key: 'env:ANY' } }`,
        "routes: { default: { chain: [up/gpt-4o-2024-11-20] }, newest: { chain: [up/gpt-4o], pin: latest } }",
        "tenants: { default: { models: { allow: ['*', 'up/*'] } } }",
        "keys: [{ id: test, hash: 'KEYHASH', tenant: default }]",
      ].join("\n"),
      variables: { ANY: "sk-test-0123456789" },
      log,
    });
  });

  afterAll(async () => {
    await pinned.close();
    await upstream.close();
  });

  const answering = (model: string): void =>
    upstream.answer((response) =>
      response.setHeader("content-type", "application/json").end(chatAnswer("hi", { model })),
    );

  test("strict pins hold for names that clients write, too", async () => {
    answering("gpt-4o-2024-11-20");
    const refused = await pinned.post({ model: "up/gpt-4.1", ...chatUser("hi") });
    expect(refused.status).toBe(403);
    expect(await refusal(refused)).toMatchObject({ code: "model_not_allowed", param: "model" });
    for (const model of ["up/gpt-4o-2024-11-20", "up/gpt-4o-mini-2024-07-18", "newest", "up/gpt-4o"])
      expect((await pinned.post({ model, ...chatUser("hi") })).status, model).toBe(200);
  });

  test("another model than the pinned one is told of once, and counted", async () => {
    const drifted = () => log.lines.filter((line) => line.includes("another model answers"));
    const before = drifted().length;
    answering("gpt-4o-2024-08-06");
    for (let i = 0; i < 3; i++) expect((await pinned.post({ model: "default", ...chatUser("hi") })).status).toBe(200);
    answering("gpt-4o-2024-11-20");
    await pinned.post({ model: "default", ...chatUser("hi") });
    answering("gpt-5-2025-08-07");
    await pinned.post({ model: "newest", ...chatUser("hi") });
    expect(drifted().slice(before)).toEqual([
      `another model answers than the one that is pinned ${JSON.stringify({
        deployment: "up/gpt-4o-2024-11-20",
        pinned: "gpt-4o-2024-11-20",
        answered: "gpt-4o-2024-08-06",
      })}`,
    ]);
    const page = await (await pinned.admin("/metrics")).text();
    expect(page).toContain('sluicegate_model_drifts_total{deployment="up/gpt-4o-2024-11-20"} 3\n');
  });

  test("a catalogue of one's own is taken up with the next reload, for names that clients write as well", async () => {
    answering("gpt-4o-2024-11-20");
    const body = { ...chatUser("hi"), n: 2 };
    for (const model of ["default", "up/gpt-4o-mini-2024-07-18"])
      expect((await pinned.post({ model, ...body })).status, model).toBe(200);
    writeFileSync(
      join(pinned.dataDir, "catalogue.json"),
      JSON.stringify({
        updated: "2027-01-01",
        sources: { us: { url: "https://models.example", read: "2027-01-01" } },
        models: [
          { names: ["gpt-4o*"], capabilities: ["tools"], sources: ["us"] },
          { names: ["gpt-4o", "gpt-4o-mini"], capabilities: [], sources: ["us"] },
        ],
        retirements: [],
      }),
    );
    await pinned.gateway.reload();
    for (const model of ["default", "up/gpt-4o-mini-2024-07-18"]) {
      const refused = await pinned.post({ model, ...body });
      expect(refused.status, model).toBe(400);
      expect(await refusal(refused)).toMatchObject({ code: "unsupported_feature", param: "n" });
    }
  });
});
