import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { errorOf } from "./support/answers.ts";
import { choicesOf, cursorOf, eventsOf, finishesOf, type ReadEvents, readEvents, textOf } from "./support/events.ts";
import { type FaultLog, faultLog } from "./support/fault-log.ts";
import { CLIENT_KEY, startTestGateway, type TestGateway } from "./support/gateway.ts";
import { postHead, type RawClient, rawClient } from "./support/raw-client.ts";
import { until } from "./support/until.ts";
import { chatAnswer, chatChunk, startUpstream, type Upstream } from "./support/upstream.ts";

const TEXT = "one two three four five six";
const KEEPALIVE = ": keep-alive\n\n";
const DONE = "data: [DONE]\n\n";
const MIB = 1024 * 1024;

/** Routes by alias: chain, and the silence after which a stream is kept alive. */
const ROUTES: Record<string, { chain: string[]; keepalive?: string }> = {
  default: { chain: ["sim/echo"] },
  late: { chain: ["sim/slow?first_token=700ms"], keepalive: "100ms" },
  lateoff: { chain: ["sim/slow?first_token=300ms"], keepalive: "off" },
  laterfail: { chain: ["sim/error?status=503&latency=400ms"], keepalive: "100ms" },
  laterfilter: { chain: ["sim/filter?latency=400ms", "sim/echo"], keepalive: "100ms" },
  laterserved: { chain: ["sim/error?status=503&latency=400ms&tag=b", "sim/echo"], keepalive: "100ms" },
  early: { chain: ["sim/error?status=503"], keepalive: "5s" },
  pause: { chain: ["pausing"], keepalive: "100ms" },
  paced: { chain: ["sim/long?tokens=400&between=10ms"] },
  tool: { chain: ["sim/tool?calls=2"] },
  reason: { chain: ["sim/reason?tokens=5"] },
  reasoning: { chain: ["sim/reason?tokens=5&field=reasoning"] },
  refuse: { chain: ["sim/refuse"] },
  json: { chain: ["sim/json"] },
  always: { chain: ["sim/echo?quirk=usage_always"] },
  infinish: { chain: ["sim/echo?quirk=usage_in_finish"] },
  every: { chain: ["sim/echo?quirk=usage_every"] },
  azure: { chain: ["sim/echo?quirk=azure_first"] },
  own: { chain: ["own/model-2026-01-01"], keepalive: "100ms" },
  steady: { chain: ["own/model-2026-01-01"], keepalive: "off" },
};

let gateway: TestGateway;
let upstream: Upstream;
let log: FaultLog;

beforeAll(async () => {
  log = faultLog();
  upstream = await startUpstream();
  gateway = await startTestGateway({ log, config: JSON.stringify(config()) });
});

beforeEach(() => {
  upstream.answer((response) => void response.writeHead(200, JSON_TYPE).end(chatAnswer("hello")));
});

afterAll(async () => {
  log.expectNoFault();
  await gateway.close();
  await upstream.close();
});

const JSON_TYPE = { "content-type": "application/json" };
const SSE_TYPE = { "content-type": "text/event-stream" };

function config(more: Record<string, unknown> = {}): Record<string, unknown> {
  const once = { retries: { attempts: 1 } };
  return {
    providers: {
      sim: { kind: "simulator", base_url: "SIMULATOR" },
      own: { kind: "openai-compatible", base_url: `${upstream.url}/v1` },
    },
    deployments: {
      pausing: { provider: "sim", model: "hang?after=2", timeouts: { idle: "1s" } },
    },
    routes: Object.fromEntries(Object.entries(ROUTES).map(([alias, route]) => [alias, { ...route, ...once }])),
    tenants: { default: { models: { allow: ["*", "sim/*"] } } },
    keys: [{ id: "test", hash: "KEYHASH", tenant: "default" }],
    ...more,
  };
}

function body(model: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, stream: true, messages: [{ role: "user", content: TEXT }], ...more };
}

async function stream(model: string, more: Record<string, unknown> = {}, headers = {}): Promise<ReadEvents> {
  const response = await gateway.post(body(model, more), { headers });
  expect(response.status).toBe(200);
  const events = await readEvents(response);
  expect(events.data.at(-1)).toBe("[DONE]");
  expect(events.data.filter((event) => event === "[DONE]")).toHaveLength(1);
  return events;
}

/** Asks over a socket of its own, so that reading can stop for real. */
function rawStream(model: string, more: Record<string, unknown> = {}): Promise<RawClient> {
  const text = JSON.stringify(body(model, more));
  const headers = { authorization: `Bearer ${CLIENT_KEY}`, ...JSON_TYPE, "content-length": text.length };
  return rawClient(gateway.url, postHead("/v1/chat/completions", headers) + text);
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Bytes of buffers that somebody holds: what only waits for the collector is not among them. */
function externalBytes(): number {
  collectGarbage();
  return process.memoryUsage().external;
}

describe("keeping a silent stream alive", () => {
  test("comments come after the silence that was set, then the answer as it is", async () => {
    const response = await gateway.post(body("late"));
    expect(response.status).toBe(200);
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    const text = await response.text();
    const silence = text.slice(0, text.indexOf("data: "));
    expect(silence.length).toBeGreaterThanOrEqual(2 * KEEPALIVE.length);
    expect(silence.replaceAll(KEEPALIVE, "")).toBe("");
    expect(textOf(eventsOf(text))).toBe(TEXT);
    expect(finishesOf(eventsOf(text))).toEqual(["stop"]);
  });

  test("none where it is off, or long", async () => {
    expect((await stream("lateoff")).comments).toEqual([]);
    expect((await stream("default")).comments).toEqual([]);
  });

  test("never inside an event", async () => {
    upstream.answer((response) => {
      const [half, rest] = [chatChunk({ content: "second" }).slice(0, 30), chatChunk({ content: "second" }).slice(30)];
      response.writeHead(200, SSE_TYPE).write(`${chatChunk({ content: "first " })}event: message\n${half}`);
      setTimeout(() => response.end(`${rest}${chatChunk({}, "stop")}${DONE}`), 450);
    });
    const events = await stream("own");
    expect(events.comments.length).toBeGreaterThan(0);
    expect(textOf(events)).toBe("first second");
    expect(events.text).not.toMatch(/[^\n]\n: keep-alive/);
  });

  test("in a pause between two chunks, until the idle limit ends it", async () => {
    const events = await stream("pause");
    expect(events.comments.length).toBeGreaterThan(0);
    expect(textOf(events)).toBe("one two ");
    expect(events.data.at(-2)).toMatchObject({ error: { code: "provider_timeout" } });
  });
});

test("the time that a provider took is not the gateway's own", async () => {
  for (const more of [{}, { stream: false }]) {
    const response = await gateway.post(body("late", more));
    await response.text();
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.latency_ms).toBeGreaterThan(600);
    expect((row.latency_ms ?? 0) - (row.overhead_ms ?? Number.NaN)).toBeGreaterThan(600);
    expect(row.overhead_ms).toBeGreaterThan(0);
    if (row.stream) expect(row.ttft_ms).toBeGreaterThan(600);
  }
});

describe("the status of a stream", () => {
  test("is the real one while nothing has been said", async () => {
    const response = await gateway.post(body("early"));
    expect(response.status).toBe(503);
    expect((await errorOf(response)).code).toBe("overloaded");
  });

  test("is 200 after a ping, and a failure is then said in-band, once", async () => {
    const response = await gateway.post(body("laterfail"));
    expect(response.status).toBe(200);
    const id = response.headers.get("x-request-id") ?? "";
    const events = await readEvents(response);
    expect(events.comments.length).toBeGreaterThan(0);
    expect(events.data).toMatchObject([{ error: { code: "overloaded", request_id: id } }, "[DONE]"]);
    expect(await gateway.row(id)).toMatchObject({ status: "failed", error_code: "overloaded" });
  });

  test("a filter that speaks after a ping is final as well", async () => {
    const events = await stream("laterfilter");
    expect(events.data).toMatchObject([{ error: { code: "content_filter" } }, "[DONE]"]);
  });

  test("a fallback is still possible after a ping", async () => {
    const events = await stream("laterserved");
    expect(events.comments.length).toBeGreaterThan(0);
    expect(textOf(events)).toBe(TEXT);
    expect(finishesOf(events)).toEqual(["stop"]);
  });
});

describe("headers of a stream", () => {
  test("are those of server-sent events, uncompressed and unbuffered", async () => {
    const response = await gateway.post(body("default"), { headers: { "accept-encoding": "gzip, br" } });
    const { headers } = response;
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-cache");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("content-length")).toBeNull();
    expect(headers.get("content-encoding")).toBeNull();
    expect(headers.get("x-sluicegate-alias")).toBe("default");
    expect(headers.get("x-sluicegate-deployment")).toBe("sim/echo");
    expect(headers.get("x-sluicegate-attempts")).toBe("1");
    // Nothing of the provider's own connection.
    expect(headers.get("openai-version")).toBeNull();
    await response.text();
  });

  test("to HTTP/1.0 it lasts until the close", async () => {
    const text = JSON.stringify(body("default"));
    const headers = { authorization: `Bearer ${CLIENT_KEY}`, ...JSON_TYPE, "content-length": text.length };
    const head = postHead("/v1/chat/completions", headers).replace("HTTP/1.1", "HTTP/1.0");
    const client = await rawClient(gateway.url, head + text);
    await client.closed();
    const received = client.received().toString();
    expect(received).not.toMatch(/transfer-encoding/i);
    expect(received.endsWith(DONE)).toBe(true);
  });
});

describe("a stream is passed on as it comes", () => {
  test("the first token is out long before the last one is made", async () => {
    const response = await gateway.post(body("paced"));
    const cursor = cursorOf(response);
    await cursor.until((text) => text.includes("lorem"));
    const line = gateway.simulator.invoice().lines.find(({ model }) => model.startsWith("long"));
    expect(line?.finished).toBe(false);
    expect(line?.output_tokens).toBeLessThan(300);
    await cursor.leave();
  });

  const chunks = [
    chatChunk({ role: "assistant", content: "" }),
    chatChunk({ content: "grüß " }),
    chatChunk({ content: '😀 你好 \u2028 \u0000 \\ "quoted"' }),
    chatChunk({ content: "end" }),
    chatChunk({}, "stop"),
    DONE,
  ];
  const whole = `: a comment of the provider\n\n${chunks.join("")}`;
  const endings: [string, (text: string) => string][] = [
    ["LF", (text) => text],
    ["CRLF", (text) => text.replaceAll("\n", "\r\n")],
    ["CR", (text) => text.replaceAll("\n", "\r")],
    ["no blank after the colon", (text) => text.replaceAll("data: ", "data:")],
    ["event and id lines", (text) => text.replaceAll("data: {", "event: message\nid: 7\ndata: {")],
  ];
  const cases = endings.flatMap(([name, change]) => [0, 1, 2, 3, 7, 64].map((size) => ({ name, change, size })));

  test.each(cases)("byte by byte: $name, in chunks of $size", async ({ change, size }) => {
    const bytes = Buffer.from(change(whole));
    upstream.answer((response) => sendInPieces(response, bytes, size));
    const response = await gateway.post(body("steady"));
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test("a large event in one piece", async () => {
    const image = "x".repeat(3 * MIB);
    const text = `${chatChunk({ content: image })}${chatChunk({}, "stop")}${DONE}`;
    upstream.answer((response) => void response.writeHead(200, SSE_TYPE).end(text));
    expect(await (await gateway.post(body("steady"))).text()).toBe(text);
  });

  function sendInPieces(response: ServerResponse, bytes: Buffer, size: number): void {
    response.writeHead(200, SSE_TYPE);
    if (size === 0) return void response.end(bytes);
    let at = 0;
    const next = (): void => {
      if (at >= bytes.length) return void response.end();
      response.write(bytes.subarray(at, at + size));
      at += size;
      setImmediate(next);
    };
    next();
  }
});

test("a stream that comes event by event says the same to a client of another dialect", async () => {
  const words = Array.from({ length: 20 }, (_, n) => `word${n} `);
  upstream.answer(async (response) => {
    response.writeHead(200, SSE_TYPE);
    for (const content of words) {
      response.write(chatChunk({ content }));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    response.end(chatChunk({}, "stop") + DONE);
  });
  const response = await gateway.post(body("steady", { max_tokens: 100 }), { path: "/v1/messages" });
  expect(response.status).toBe(200);
  const events = (await readEvents(response)).data as { delta?: { text?: string } }[];
  expect(events.map(({ delta }) => delta?.text ?? "").join("")).toBe(words.join(""));
});

describe("usage in a stream", () => {
  const usageOf = (events: ReadEvents): unknown[] =>
    events.data.filter((event) => event !== "[DONE]" && event["usage"] != null);

  test.each<[string, unknown, number]>([
    ["not asked", undefined, 0],
    ["asked", { include_usage: true }, 1],
    ["declined", { include_usage: false }, 0],
    ["null", null, 0],
  ])("%s", async (_, options, count) => {
    const response = await gateway.post(body("default", { stream_options: options }));
    const events = await readEvents(response);
    expect(usageOf(events)).toHaveLength(count);
    expect(textOf(events)).toBe(TEXT);
    // The provider is asked all the same, and its count is kept.
    expect(gateway.simulator.requests().recent.at(-1)?.body).toMatchObject({ stream_options: { include_usage: true } });
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    const line = gateway.simulator.invoice().lines.at(-1);
    expect(row.usage).toMatchObject({ input_tokens: line?.input_tokens, output_tokens: line?.output_tokens });
    expect(row.attempts[0]?.cost_state).not.toBe("estimated");
  });

  test("hidden also where the provider always sends it", async () => {
    expect(usageOf(await stream("always"))).toEqual([]);
    expect(usageOf(await stream("always", { stream_options: { include_usage: true } }))).toHaveLength(1);
  });

  test.each(["infinish", "every"])(
    "what rides on a chunk of output stays on it, and is counted once: %s",
    async (alias) => {
      const response = await gateway.post(body(alias));
      const events = await readEvents(response);
      expect(finishesOf(events)).toEqual(["stop"]);
      const row = await gateway.row(response.headers.get("x-request-id") ?? "");
      const line = gateway.simulator.invoice().lines.at(-1);
      expect(row.usage).toMatchObject({ input_tokens: line?.input_tokens, output_tokens: line?.output_tokens });
    },
  );
});

describe("gateway_metadata", () => {
  const at = (events: ReadEvents): number[] =>
    events.data.flatMap((event, index) => (event !== "[DONE]" && "gateway_metadata" in event ? [index] : []));

  test("is in a stream's last event when asked for, and not otherwise", async () => {
    expect(at(await stream("default"))).toEqual([]);
    expect(at(await stream("default", {}, { "x-sluicegate-metadata": "off" }))).toEqual([]);
    for (const alias of ["default", "azure", "always"]) {
      const events = await stream(alias, {}, { "x-sluicegate-metadata": "on" });
      expect(at(events)).toEqual([events.data.length - 2]);
      const last = events.data.at(-2) as Record<string, unknown>;
      expect(last["gateway_metadata"]).toMatchObject({ provider: "sim", fallback_depth: 0, cache_hit: false });
      expect(last).toMatchObject({ object: "chat.completion.chunk", choices: [] });
      expect(textOf(events)).toBe(TEXT);
    }
  });

  test("is in a JSON answer unless it is turned off, and then every byte is the provider's", async () => {
    const plain = { model: "own", messages: [{ role: "user", content: "hi" }] };
    const odd = ` {"choices" : [ {"index":0,"message":{"role":"assistant","content":"\\u00e9\\/"},"finish_reason":"stop"}], "x":1.0, "big":12345678901234567890 } `;
    upstream.answer((response) => void response.writeHead(200, JSON_TYPE).end(odd));
    const shown = await (await gateway.post(plain)).text();
    const { gateway_metadata: metadata } = JSON.parse(shown);
    expect(metadata).toMatchObject({ provider: "own", deployment: "own/model-2026-01-01", variant: null });
    expect(shown.replace(/,"gateway_metadata":\{.*?\}/, "")).toBe(odd);
    const hidden = await gateway.post(plain, { headers: { "x-sluicegate-metadata": "off" } });
    expect(await hidden.text()).toBe(odd);
  });

  test("tells no more than the headers do where little is exposed", async () => {
    const own = await startTestGateway({ log, config: JSON.stringify(config({ gateway: { expose: "minimal" } })) });
    try {
      const answer = await own.post({ ...body("default"), stream: false });
      expect(answer.headers.get("x-sluicegate-deployment")).toBeNull();
      const { gateway_metadata: metadata } = (await answer.json()) as { gateway_metadata: Record<string, unknown> };
      const id = answer.headers.get("x-request-id");
      expect(metadata).toEqual({ request_id: id, cache: "bypass", cache_hit: false });
    } finally {
      await own.close();
    }
  });
});

describe("what a stream can hold", () => {
  test("several answers at once", async () => {
    const events = await stream("default", { n: 3 });
    for (const choice of [0, 1, 2]) {
      expect(textOf(events, choice)).toBe(TEXT);
      expect(finishesOf(events, choice)).toEqual(["stop"]);
    }
  });

  test("log probabilities", async () => {
    const events = await stream("default", { logprobs: true, top_logprobs: 2 });
    const tokens = choicesOf(events).flatMap(({ logprobs }) =>
      logprobs ? (logprobs as { content: { token: string; top_logprobs: unknown[] }[] }).content : [],
    );
    expect(tokens.map(({ token }) => token).join("")).toBe(TEXT);
    expect(tokens[0]?.top_logprobs).toHaveLength(2);
  });

  test.each(["reason", "reasoning"])("reasoning: %s", async (alias) => {
    const response = await gateway.post(body(alias));
    const events = await readEvents(response);
    const field = alias === "reason" ? "reasoning_content" : "reasoning";
    const thought = choicesOf(events).map(({ delta }) => delta?.[field] ?? "");
    expect(thought.join("").trim().split(" ")).toHaveLength(5);
    expect(textOf(events)).toBe(TEXT);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.usage.reasoning_tokens).toBe(5);
    expect(row.usage.output_tokens).toBeGreaterThan(5);
  });

  test("a refusal", async () => {
    const events = await stream("refuse");
    const refusal = choicesOf(events).map(({ delta }) => delta?.["refusal"] ?? "");
    expect(refusal.join("")).toBe("I'm sorry, I can't help with that.");
  });

  test("parallel tool calls", async () => {
    const tool = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
    const response = await gateway.post(body("tool", { tools: [tool("first"), tool("second")] }));
    const events = await readEvents(response);
    type Call = { index: number; function?: { name?: string } };
    const calls = choicesOf(events).flatMap(({ delta }) => (delta?.["tool_calls"] as Call[] | undefined) ?? []);
    expect(calls.filter((call) => call.function?.name).map((call) => [call.index, call.function?.name])).toEqual([
      [0, "first"],
      [1, "second"],
    ]);
    expect(finishesOf(events)).toEqual(["tool_calls"]);
    const row = await gateway.row(response.headers.get("x-request-id") ?? "");
    expect(row.finish_reason).toBe("tool_calls");
  });

  test("JSON that fits a schema", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const format = { type: "json_schema", json_schema: { name: "place", schema, strict: true } };
    const events = await stream("json", { response_format: format });
    expect(JSON.parse(textOf(events))).toEqual({ city: expect.any(String) });
  });
});

describe("what a request can hold goes to the provider byte by byte", () => {
  const parts = {
    image: '{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"high"}}',
    link: '{"type":"image_url","image_url":{"url":"https:\\/\\/example.com\\/a.png"}}',
    file: '{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}}',
    audio: '{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}',
    unknown: '{"type":"hologram","hologram":{"depth":1.50}}',
    cache: '{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}',
  };
  const messages = (part: string): string =>
    `"messages":[{"role":"user","content":[{"type":"text","text":"look"},${part}]}]`;
  const wholes: [string, string][] = [
    ...Object.entries(parts).map(([name, part]): [string, string] => [name, `{"model":"own",${messages(part)}}`]),
    [
      "a schema",
      `{"model":"own","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"},"a":{"type":["string","null"]}},"$defs":{"B":{"type":"number","multipleOf":0.10}}}}}}`,
    ],
    [
      "odd numbers, spaces, escapes, order and unknown fields",
      '\n{ "z" : 1.0 , "seed":12345678901234567890,"messages" : [ {"content":"\\u00e9\\ud83d\\ude00 \\"", "role":"user"} ] ,\t"temperature":1e0,"new_feature":{"b":[],"a":{}},"model" : "own" , "metadata":{"k":"v"} }\n',
    ],
    [
      "a conversation with tools",
      '{"model":"own","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"a\\": 1}"}}],"reasoning_content":"hm","provider_specific":{"signature":"abc=="}},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"done"}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false}',
    ],
  ];

  test.each(wholes)("%s", async (_, raw) => {
    expect((await gateway.post(null, { raw })).status).toBe(200);
    expect(upstream.hits.at(-1)?.body.toString()).toBe(raw.replace('"own"', '"model-2026-01-01"'));
  });

  test("less what is the gateway's own", async () => {
    const raw = `{"gateway":{"user":"u"},"model":"own","session_id":"s","messages":[{"role":"user","content":"x"}],"hedge":false,"user":"u","cache_policy":"bypass"}`;
    const headers = { "x-sluicegate-agent": "a", "openai-organization": "mine" };
    expect((await gateway.post(null, { raw, headers })).status).toBe(200);
    const hit = upstream.hits.at(-1);
    expect(hit?.body.toString()).toBe(
      '{"model":"model-2026-01-01","messages":[{"role":"user","content":"x"}],"user":"u"}',
    );
    const names = Object.keys(hit?.headers ?? {});
    expect(names.filter((name) => name.startsWith("x-sluicegate") || name === "openai-organization")).toEqual([]);
    expect(JSON.stringify(hit?.headers)).not.toContain(CLIENT_KEY);
  });
});

describe("a client that does not read", () => {
  const piece = chatChunk({ content: "x".repeat(8_000) });

  /** Streams without end, as fast as it is let; says how much it has sent. */
  function endless(): { sent(): number } {
    let sent = 0;
    upstream.answer((response) => {
      response.writeHead(200, SSE_TYPE);
      const feed = (): void => {
        for (let i = 0; i < 16; i++) {
          if (response.destroyed) return;
          sent += piece.length;
          if (!response.write(piece)) return void response.once("drain", () => setImmediate(feed));
        }
        setImmediate(feed);
      };
      feed();
    });
    return { sent: () => sent };
  }

  /** Resolves with a figure once it has stood still for a while. */
  function still(figure: () => number): Promise<number> {
    return until("it to stand still", async () => {
      const first = figure();
      for (let i = 0; i < 15; i++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (figure() !== first) return null;
      }
      return first > 0 ? first : null;
    });
  }

  test("holds up the provider, not the others, and goes on where it stopped", async () => {
    const { sent } = endless();
    const client = await rawStream("steady");
    await until("the stream to begin", () => client.received().length > 0);
    client.socket.pause();
    const held = await still(sent);
    // What the kernel keeps between three sockets, and not much more.
    expect(held - client.received().length).toBeLessThan(80 * MIB);
    for (let i = 0; i < 20; i++) expect(textOf(await stream("default"))).toBe(TEXT);
    expect(sent()).toBe(held);
    client.socket.resume();
    await until("it to go on", () => client.received().length > held + MIB);
    expect(sent()).toBeGreaterThan(held);
    client.socket.pause();
    await still(sent);
    client.socket.destroy();
  }, 60_000);

  test("costs the gateway little, however many there are", async () => {
    const { sent } = endless();
    const before = externalBytes();
    const clients: RawClient[] = [];
    const count = 12;
    for (let i = 0; i < count; i++) {
      const client = await rawStream("steady");
      await until("the stream to begin", () => client.received().length > 0);
      client.socket.pause();
      clients.push(client);
    }
    await still(sent);
    // Upstream and clients live in this process, too: what they hold is counted in, with the bytes the clients have read. What
    // is on its way between the three goes by; what the gateway holds stays.
    const held = (): number =>
      externalBytes() - before - clients.reduce((sum, client) => sum + client.received().length, 0);
    try {
      await until("it to be little", () => held() / count < MIB);
    } finally {
      for (const client of clients) client.socket.destroy();
    }
  }, 60_000);
});
