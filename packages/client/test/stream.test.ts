import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { type ChatRequest, type ChatStream, RateLimitError, Sluicegate, type StreamPart } from "../src/index.ts";
import {
  beginStream,
  chunk,
  json,
  ORIGIN_HEADERS,
  refuse,
  signal,
  sse,
  startTinyGateway,
  stream,
  USAGE_CHUNK,
  WIRE_USAGE,
} from "./tiny-gateway.ts";

const ASK: ChatRequest = { model: "default", messages: [{ role: "user", content: "hi" }] };

const START = {
  type: "start",
  requestId: "req_1",
  alias: "default",
  deployment: "gpt-uae",
  provider: "azure-uae",
  model: "gpt-4o-2024-11-20",
};

const USAGE = {
  input_tokens: 50,
  cached_input_tokens: 40,
  cache_write_tokens: 6,
  cache_write_1h_tokens: 0,
  output_tokens: 12,
  reasoning_tokens: 5,
};

async function collect(parts: ChatStream): Promise<StreamPart[]> {
  const all: StreamPart[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

function inPieces(pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

const fragment = (index: number, args: string, more: object = {}) => ({
  index,
  function: { arguments: args, ...more },
});

describe("a stream", () => {
  it("gives typed parts and the reply that chat gives", async () => {
    const metadata = { request_id: "req_1", cost_usd: 0.01 };
    const gateway = await startTinyGateway(
      stream(
        chunk({ role: "assistant", content: "" }),
        chunk({ reasoning_content: "Think" }),
        chunk({ reasoning_content: "ing", reasoning_details: [{ index: 0, type: "reasoning.text", text: "a" }] }),
        chunk({ reasoning_details: [{ index: 0, type: "reasoning.text", text: "b", signature: "sig" }] }),
        chunk({ content: "Hel" }),
        chunk({ content: "lo" }),
        chunk({ annotations: [{ type: "url_citation", url_citation: { url: "https://example.com" } }] }),
        chunk({ refusal: "no more" }),
        chunk({}, "stop"),
        { ...USAGE_CHUNK, gateway_metadata: metadata },
        chunk({}, null, { choices: [], usage: null }),
        "[DONE]",
      ),
    );
    const answer = gateway.client().stream({ ...ASK, extra: { stream_options: { include_obfuscation: false } } });
    expect(await collect(answer)).toEqual([
      START,
      { type: "reasoning", text: "Think" },
      { type: "reasoning", text: "ing" },
      { type: "reasoning", text: "", signature: "sig" },
      { type: "text", text: "Hel" },
      { type: "text", text: "lo" },
      { type: "annotation", annotation: { type: "url_citation", url_citation: { url: "https://example.com" } } },
      { type: "refusal", text: "no more" },
      { type: "usage", usage: USAGE },
      { type: "finish", finishReason: "stop" },
    ]);
    const { type: _, ...origin } = START;
    const wire = {
      role: "assistant",
      content: "Hello",
      reasoning_content: "Thinking",
      reasoning_details: [{ index: 0, type: "reasoning.text", text: "ab", signature: "sig" }],
      annotations: [{ type: "url_citation", url_citation: { url: "https://example.com" } }],
      refusal: "no more",
    };
    expect(await answer.final()).toEqual({
      ...origin,
      message: { role: "assistant", text: "Hello", reasoning: "Thinking", refusal: "no more", toolCalls: [], wire },
      usage: USAGE,
      finishReason: "stop",
      latencyMs: expect.any(Number),
      costUsd: 0.01,
      metadata,
      raw: {
        id: "chatcmpl-1",
        object: "chat.completion",
        created: 1,
        model: "gpt-4o-2024-11-20",
        choices: [{ index: 0, logprobs: null, message: wire, finish_reason: "stop" }],
        usage: WIRE_USAGE,
        gateway_metadata: metadata,
      },
    });
    expect(gateway.received[0]!.body).toEqual({
      ...ASK,
      stream: true,
      stream_options: { include_obfuscation: false, include_usage: true },
    });
    expect(gateway.received[0]!.headers["x-sluicegate-metadata"]).toBe("on");
  });

  it("keys tool call fragments by their index", async () => {
    const gateway = await startTinyGateway(
      stream(
        chunk({ tool_calls: [{ ...fragment(0, "", { name: "weather" }), id: "call_a", type: "function" }] }),
        chunk({ tool_calls: [fragment(0, '{"city":')] }),
        chunk({
          tool_calls: [{ ...fragment(1, "", { name: "time" }), id: "call_b", type: "function" }, fragment(0, '"Os')],
        }),
        chunk({ tool_calls: [fragment(1, ""), fragment(0, 'lo"}', { name: "" })] }),
        chunk({}, "stop"),
        USAGE_CHUNK,
        "[DONE]",
      ),
    );
    const answer = gateway.client().stream(ASK);
    const a = { index: 0, id: "call_a" };
    const endOfA = { id: "call_a", name: "weather", arguments: { city: "Oslo" }, rawArguments: '{"city":"Oslo"}' };
    const endOfB = { id: "call_b", name: "time", arguments: {}, rawArguments: "" };
    expect(await collect(answer)).toEqual([
      START,
      { type: "tool_start", ...a, name: "weather" },
      { type: "tool_arguments", ...a, text: '{"city":' },
      { type: "tool_start", index: 1, id: "call_b", name: "time" },
      { type: "tool_arguments", ...a, text: '"Os' },
      { type: "tool_arguments", ...a, text: 'lo"}' },
      { type: "tool_end", index: 0, ...endOfA },
      { type: "tool_end", index: 1, ...endOfB },
      { type: "usage", usage: USAGE },
      { type: "finish", finishReason: "tool_calls" },
    ]);
    const { message } = await answer.final();
    expect(message.toolCalls).toEqual([endOfA, endOfB]);
    expect(message.wire).toEqual({
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
        { id: "call_b", type: "function", function: { name: "time", arguments: "" } },
      ],
    });
  });

  it("makes new calls of new ids, and waits for a name that is late", async () => {
    const gateway = await startTinyGateway(
      stream(
        chunk({ tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] }),
        chunk({ tool_calls: [{ id: "b", index: 0, function: { arguments: "[1" } }] }),
        chunk({ tool_calls: [{ id: "b", index: 0, function: { name: "g", arguments: "]" } }] }),
        chunk({ tool_calls: [{ id: "c", index: 0, function: { name: "h", arguments: { x: 1 } } }] }, "tool_calls"),
      ),
    );
    const parts = await collect(gateway.client().stream(ASK));
    expect(parts.filter(({ type }) => type === "tool_start" || type === "tool_arguments")).toEqual([
      { type: "tool_start", index: 0, id: "a", name: "f" },
      { type: "tool_arguments", index: 0, id: "a", text: "{}" },
      { type: "tool_start", index: 1, id: "b", name: "g" },
      { type: "tool_arguments", index: 1, id: "b", text: "[1]" },
      { type: "tool_start", index: 2, id: "c", name: "h" },
      { type: "tool_arguments", index: 2, id: "c", text: '{"x":1}' },
    ]);
    expect(parts.flatMap((part) => (part.type === "tool_end" ? [part.arguments] : []))).toEqual([{}, [1], { x: 1 }]);
  });
});

describe("the bytes of a stream", () => {
  const text = [
    "\uFEFF: comment\r\n\r\n",
    sse(chunk({ role: "assistant", content: "Gr" }), chunk({ content: "üße 🌊" })).replaceAll("\n", "\r\n"),
    ": keep-alive\n\n",
    sse(chunk({ tool_calls: [{ ...fragment(0, '{"é":1}', { name: "f" }), id: "a" }] }), chunk({}, "tool_calls")),
    sse(USAGE_CHUNK).replace("data: ", "data:"),
    "data: [DONE]",
  ].join("");
  const bytes = new TextEncoder().encode(text);
  const expected = [
    START,
    { type: "text", text: "Gr" },
    { type: "text", text: "üße 🌊" },
    { type: "tool_start", index: 0, id: "a", name: "f" },
    { type: "tool_arguments", index: 0, id: "a", text: '{"é":1}' },
    { type: "tool_end", index: 0, id: "a", name: "f", arguments: { é: 1 }, rawArguments: '{"é":1}' },
    { type: "usage", usage: USAGE },
    { type: "finish", finishReason: "tool_calls" },
  ];

  it("may be cut in two at every place", async () => {
    for (let at = 0; at <= bytes.length; at++) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)].filter((piece) => piece.length > 0);
      const fetch = async () => new Response(inPieces(pieces), { headers: ORIGIN_HEADERS });
      const client = new Sluicegate({ baseUrl: "http://gateway.test", apiKey: "k", fetch });
      expect(await collect(client.stream(ASK)), `cut at ${at}`).toEqual(expected);
    }
  });

  it("may come one by one from a socket", async () => {
    const gateway = await startTinyGateway(async (response) => {
      response.socket?.setNoDelay();
      beginStream(response);
      for (const byte of bytes) await new Promise((resolve) => response.write(Uint8Array.of(byte), resolve));
      response.end();
    });
    expect(await collect(gateway.client().stream(ASK))).toEqual(expected);
  });
});

describe("a stream that fails", () => {
  it("throws the error that comes within it, after the parts before it", async () => {
    const error = { message: "full", type: "rate_limit_error", code: "rate_limit_exceeded", scope: "tenant:a" };
    const gateway = await startTinyGateway(stream(chunk({ content: "a" }), { error }, chunk({}, "stop"), "[DONE]"));
    const answer = gateway.client().stream(ASK);
    const parts: StreamPart[] = [];
    const reading = (async () => {
      for await (const part of answer) parts.push(part);
    })();
    const thrown = await reading.catch((reason) => reason);
    expect(thrown).toBeInstanceOf(RateLimitError);
    expect(thrown).toMatchObject({ status: 429, scope: "tenant:a", requestId: "req_1" });
    expect(parts).toEqual([START, { type: "text", text: "a" }]);
    await expect(answer.final()).rejects.toBe(thrown);
    expect(gateway.received).toHaveLength(1);
  });

  it.each([
    [
      "an error event first",
      'event: error\ndata: {"error":{"code":"all_providers_failed"}}\n\n',
      "all_providers_failed",
    ],
    ["a provider's own error", sse({ error: { message: "x", type: "server_error", code: null } }), "server_error"],
    ["no finish reason", sse(chunk({ content: "a" }), "[DONE]"), "stream_cut"],
    ["nothing", "", "stream_cut"],
    ["a broken event", `${sse(chunk({ content: "a" }))}data: {"choi\n\n${sse(chunk({}, "stop"))}`, "invalid_answer"],
  ])("with %s", async (_, text, code) => {
    const gateway = await startTinyGateway((response) => {
      beginStream(response);
      response.end(text);
    });
    await expect(gateway.client().stream(ASK).final()).rejects.toMatchObject({ code, requestId: "req_1" });
    expect(gateway.received).toHaveLength(1);
  });

  it("before it begins throws as chat does", async () => {
    const gateway = await startTinyGateway(refuse(402, "budget_exceeded"));
    await expect(collect(gateway.client().stream(ASK))).rejects.toMatchObject({ name: "BudgetError", status: 402 });
  });
});

describe("final", () => {
  const events = [chunk({ content: "a" }), chunk({ content: "b" }), chunk({}, "stop"), USAGE_CHUNK, "[DONE]"];

  it("reads the stream itself, sends once, and leaves the parts for a loop that comes later", async () => {
    const gateway = await startTinyGateway(stream(...events), json({}));
    const answer = gateway.client().stream(ASK);
    expect(gateway.received).toHaveLength(0);
    const [first, second] = await Promise.all([answer.final(), answer.final()]);
    expect(second).toBe(first);
    expect(first.message.text).toBe("ab");
    expect((await collect(answer)).map(({ type }) => type)).toEqual(["start", "text", "text", "usage", "finish"]);
    expect(() => answer[Symbol.asyncIterator]()).toThrow(TypeError);
    expect(gateway.received).toHaveLength(1);
  });

  it("may run beside the loop, be asked for within it, and after a break at the finish", async () => {
    const gateway = await startTinyGateway(stream(...events));
    const beside = gateway.client().stream(ASK);
    const [reply, parts] = await Promise.all([beside.final(), collect(beside)]);
    expect(reply.message.text).toBe("ab");
    expect(parts).toHaveLength(5);

    const within = gateway.client().stream(ASK);
    const types: string[] = [];
    for await (const part of within) {
      types.push(part.type);
      expect((await within.final()).message.text).toBe("ab");
      if (part.type === "finish") break;
    }
    expect(types).toEqual(["start", "text", "text", "usage", "finish"]);

    const after = gateway.client().stream(ASK);
    for await (const part of after) if (part.type === "finish") break;
    expect((await after.final()).finishReason).toBe("stop");
  });

  it("does not wait for a body that goes on after its end", async () => {
    const gateway = await startTinyGateway((response) => {
      beginStream(response);
      response.write(sse(...events));
    });
    expect((await gateway.client().stream(ASK).final()).message.text).toBe("ab");
  });

  it("leaves the connection for the next call", async () => {
    const gateway = await startTinyGateway((response) => {
      beginStream(response);
      // The end comes well after the last event, in a packet of its own.
      let turns = 20;
      const end = (): unknown => (turns-- > 0 ? setImmediate(end) : response.end());
      response.write(sse(...events), end);
    });
    for (let n = 0; n < 8; n++) await gateway.client().stream(ASK).final();
    expect(gateway.received).toHaveLength(8);
    // Not one: Node's fetch opens a second one for a call made in the turn in which the first call ended.
    expect(gateway.stats.connections).toBeLessThanOrEqual(2);
  });
});

describe("leaving a stream", () => {
  async function startEndless() {
    const left = signal();
    const gateway = await startTinyGateway(async (response) => {
      beginStream(response);
      response.write(sse(chunk({ content: "a" }), chunk({ content: "b" })));
      await once(response, "close");
      left.resolve();
    });
    return { ...gateway, left: left.promise };
  }

  it("by break aborts the request", async () => {
    const gateway = await startEndless();
    const answer = gateway.client().stream(ASK);
    for await (const part of answer) if (part.type === "text") break;
    await gateway.left;
    await expect(answer.final()).rejects.toHaveProperty("name", "AbortError");
  });

  it("by break ends a final that waits beside it", async () => {
    const gateway = await startEndless();
    const answer = gateway.client().stream(ASK);
    const final = answer.final();
    const ended = expect(final).rejects.toHaveProperty("name", "AbortError");
    for await (const part of answer) if (part.type === "text") break;
    await gateway.left;
    await ended;
  });

  it("by the caller's signal throws its reason", async () => {
    const gateway = await startEndless();
    const controller = new AbortController();
    const answer = gateway.client().stream(ASK, { signal: controller.signal });
    const reading = (async () => {
      for await (const part of answer) if (part.type === "text") controller.abort(new Error("enough"));
    })();
    await expect(reading).rejects.toThrow("enough");
    await gateway.left;
    await expect(answer.final()).rejects.toThrow("enough");
  });
});
