import { brotliCompressSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ScriptedCall, ScriptedTransport } from "../../test/support/scripted-transport.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { Cancel } from "../core/cancel.ts";
import { LIMITS } from "../core/limits.ts";
import type { StreamPart } from "../core/stream-part.ts";
import type { Transport } from "../core/transport.ts";
import { openaiChat } from "../protocols/openai-chat/index.ts";
import type { StreamWriter } from "../protocols/translation.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptOutcome, AttemptSpec, StreamEnd } from "./attempt-outcome.ts";

const SPEC: AttemptSpec = {
  request: {
    origin: "http://upstream",
    method: "POST",
    path: "/v1/chat/completions",
    headers: [],
    body: Buffer.from("{}"),
    connectTimeoutMs: 5_000,
    pool: { key: "a", connections: 1 },
  },
  protocol: openaiChat,
  quirks: { maxTokensField: null, streamOptions: true, reasoningInOutput: true },
  stream: true,
  choices: 1,
  showsUsage: false,
  holdTerminator: false,
  timeouts: { connectMs: 5_000, firstTokenMs: 10_000, hopMs: 15_000, idleMs: 30_000, streamMaxMs: 600_000 },
};

const event = (json: unknown): string => `data: ${JSON.stringify(json)}\n\n`;
const chunk = (delta: unknown, finish: string | null = null, index = 0): string =>
  event({ id: "c1", model: "m-2026", choices: [{ index, delta, finish_reason: finish }] });
const ROLE = chunk({ role: "assistant", content: "" });
const HI = chunk({ content: "hi" });
const STOP = chunk({}, "stop");
const USAGE = event({
  id: "c1",
  model: "m-2026",
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
});
const DONE = "data: [DONE]\n\n";
const ERROR = event({ error: { message: "boom", type: "server_error", code: null } });
const JSON_HEADERS = { "content-type": "application/json" };
const REPLY = {
  model: "m-2026",
  choices: [{ index: 0, message: { content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};

interface Running {
  attempt: Attempt;
  call: ScriptedCall;
  clock: VirtualClock;
  cancel: Cancel;
  /** Every time a promise resolved: never more than once each. */
  outcomes: AttemptOutcome[];
  ends: StreamEnd[];
  /** What the client has been given, once it takes. */
  given: Buffer[];
  text(): string;
  /** Takes the stream as a client that keeps up, or one that does not. */
  take(keepsUp?: boolean): void;
  settled(): Promise<void>;
}

function start(change: Partial<AttemptSpec> = {}, play?: (call: ScriptedCall) => void): Running {
  const clock = new VirtualClock();
  const cancel = new Cancel();
  const transport = new ScriptedTransport(play);
  const attempt = new Attempt({ ...SPEC, ...change }, transport, clock, cancel);
  const running: Running = {
    attempt,
    get call() {
      return transport.last;
    },
    clock,
    cancel,
    outcomes: [],
    ends: [],
    given: [],
    text: () => Buffer.concat(running.given).toString(),
    take(keepsUp = true) {
      // What was held may be handed over after the end; nothing else is.
      let taking = true;
      attempt.take((bytes) => {
        if (!taking) expect(running.ends).toEqual([]);
        running.given.push(bytes);
        return keepsUp;
      });
      taking = false;
    },
    settled: async () => {
      for (let i = 0; i < 10; i++) await Promise.resolve();
    },
  };
  void attempt.outcome.then((outcome) => running.outcomes.push(outcome));
  void attempt.end.then((end) => running.ends.push(end));
  return running;
}

/** Nothing is left behind by an attempt that is over. */
function expectNothingLeft({ clock, attempt }: Running): void {
  expect(attempt.meter.endedAt).not.toBeNull();
  expect(clock.timers).toBe(0);
}

const failureOf = (running: Running) => {
  const [outcome] = running.outcomes;
  return outcome?.kind === "failed" ? outcome.failure : undefined;
};

it("is given up at its first token's deadline where that comes before the connection's", async () => {
  const run = start({ timeouts: { ...SPEC.timeouts, firstTokenMs: 1_000 } });
  run.call.sent();
  run.clock.advance(1_000);
  await run.settled();
  expect(failureOf(run)?.class).toBe("timeout");
  expectNothingLeft(run);
});

describe("a JSON answer", () => {
  it("is taken whole, with what it says", async () => {
    const run = start({ stream: false });
    run.call.sent();
    run.clock.advance(1_000);
    run.call.headers(200, { ...JSON_HEADERS, "x-request-id": "up_1" });
    const body = JSON.stringify(REPLY);
    for (const byte of Buffer.from(body)) run.call.data(Buffer.from([byte]));
    run.call.end();
    await run.settled();
    expect(run.outcomes).toMatchObject([{ kind: "reply", facts: { finishReason: "stop" } }]);
    expect(run.outcomes[0]).toHaveProperty("body", Buffer.from(body));
    expect(run.attempt.meter).toMatchObject({
      sentAt: 0,
      endedAt: 1_000,
      httpStatus: 200,
      providerRequestId: "up_1",
      model: "m-2026",
      usage: { input_tokens: 9, output_tokens: 3 },
    });
    expect(run.call.aborts).toBe(0);
    expectNothingLeft(run);
  });

  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("that came as %s although nobody asked for it is decoded", async (encoding, encode) => {
    const run = start({ stream: false });
    run.call.sent().headers(200, { ...JSON_HEADERS, "content-encoding": encoding });
    for (const byte of encode(JSON.stringify(REPLY))) run.call.data(Buffer.from([byte]));
    run.call.end();
    expect(await run.attempt.outcome).toMatchObject({ kind: "reply", body: Buffer.from(JSON.stringify(REPLY)) });
    expectNothingLeft(run);
  });

  it.each([
    ["that is not what it says", "gzip", Buffer.from(JSON.stringify(REPLY))],
    ["that is cut short", "gzip", gzipSync(JSON.stringify(REPLY)).subarray(0, 40)],
    ["that nobody can decode", "zstd", Buffer.from("x")],
  ])("%s is no answer", async (_name, encoding, bytes) => {
    const run = start({ stream: false });
    run.call
      .sent()
      .headers(200, { ...JSON_HEADERS, "content-encoding": encoding })
      .data(bytes)
      .end();
    expect(await run.attempt.outcome).toMatchObject({ kind: "failed", failure: { class: "invalid_response" } });
    expectNothingLeft(run);
  });

  it.each([
    ["<html>", "invalid_response"],
    ["", "invalid_response"],
    [JSON.stringify({ error: { code: 429, message: "slow" } }), "rate_limited"],
  ])("of %j is a failure", async (body, kind) => {
    const run = start({ stream: false });
    run.call.sent().headers(200, JSON_HEADERS).data(body).end();
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: kind, httpStatus: kind === "rate_limited" ? 429 : 200 });
    expectNothingLeft(run);
  });

  it("that failed is billed for what it says it used", async () => {
    const run = start({ stream: false });
    run.call
      .sent()
      .headers(200, JSON_HEADERS)
      .data(JSON.stringify({ choices: [], usage: REPLY.usage }))
      .end();
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "invalid_response" });
    expect(run.attempt.meter.usage).toMatchObject({ input_tokens: 9, output_tokens: 3 });
  });

  it("that comes where a stream was asked for is no stream", async () => {
    const run = start();
    run.call.sent().headers(200, JSON_HEADERS).data(JSON.stringify(REPLY)).end();
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "invalid_response" });
  });

  it("over its bound is refused, and the call ended", async () => {
    const run = start({ stream: false });
    run.call.sent().headers(200, JSON_HEADERS);
    const piece = Buffer.alloc(8 * 1024 * 1024, 120);
    for (let i = 0; i <= LIMITS.upstreamBodyBytesMax / piece.length; i++) run.call.data(piece);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "invalid_response" });
    expect(run.call.aborts).toBe(1);
    expectNothingLeft(run);
  });

  it("is not cut by the first-token or the idle limit of streams", async () => {
    const run = start({ stream: false, timeouts: { ...SPEC.timeouts, firstTokenMs: null, hopMs: 300_000 } });
    run.call.sent();
    run.clock.advance(299_999);
    expect(run.outcomes).toEqual([]);
    run.call.headers(200, JSON_HEADERS).data(JSON.stringify(REPLY)).end();
    await run.settled();
    expect(run.outcomes).toMatchObject([{ kind: "reply" }]);
  });
});

describe("an error answer", () => {
  it("is classified by status, headers and body", async () => {
    const run = start();
    run.call
      .sent()
      .headers(429, { ...JSON_HEADERS, "retry-after": "7" })
      .data('{"error":{"message":"slow","code":"rate_limit_exceeded"}}')
      .end();
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "rate_limited", retryAfterMs: 7_000, httpStatus: 429 });
    expectNothingLeft(run);
  });

  it.each<[string, (call: ScriptedCall, clock: VirtualClock) => void]>([
    ["breaks off", (call) => call.data('{"err').error("reset")],
    ["never ends", (_call, clock) => clock.advance(3_000)],
    ["never ends, however much it says", (call) => call.data(Buffer.alloc(LIMITS.upstreamErrorBytesMax + 1, 120))],
    ["cannot be decoded", (call) => call.data("no gzip").end()],
  ])("whose body %s is still told by its status", async (_name, play) => {
    const run = start();
    run.call.sent().headers(429, { "content-encoding": _name.includes("decoded") ? "gzip" : "identity" });
    play(run.call, run.clock);
    expect(await run.attempt.outcome).toMatchObject({
      kind: "failed",
      failure: { class: "rate_limited", httpStatus: 429 },
    });
    expectNothingLeft(run);
  });

  it("in an encoding nobody knows is told by its status, and its bytes are shown to nobody", async () => {
    const run = start();
    run.call
      .sent()
      .headers(400, { ...JSON_HEADERS, "content-encoding": "zstd" })
      .data("{}")
      .end();
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "bad_request" });
    expect(failureOf(run)?.upstream).toBeUndefined();
  });

  it("is given a moment for its body", async () => {
    const run = start();
    run.call.sent();
    run.clock.advance(1_000);
    run.call.headers(429, JSON_HEADERS);
    run.clock.advance(1_999);
    await run.settled();
    expect(run.outcomes).toEqual([]);
    run.call.data('{"error":{"code":"insufficient_quota"}}');
    run.clock.advance(1);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "quota_exhausted" });
    expect(run.call.aborts).toBe(1);
  });

  it("is not read as a stream, though it calls itself one", async () => {
    const run = start();
    run.call.streams().end();
    const refused = start();
    refused.call.sent().headers(503, { "content-type": "text/event-stream" }).data(HI).end();
    await refused.settled();
    expect(failureOf(refused)).toMatchObject({ class: "overloaded" });
  });
});

describe("a stream", () => {
  it("goes on byte for byte, less the usage chunk nobody asked for", async () => {
    const run = start();
    run.call.streams({ "x-request-id": "up_1" }).data(ROLE, HI);
    await run.settled();
    expect(run.outcomes).toEqual([{ kind: "streaming" }]);
    run.take();
    run.call.data(STOP, USAGE, DONE);
    await run.settled();
    expect(run.text()).toBe(ROLE + HI + STOP + DONE);
    expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
    expect(run.attempt.meter).toMatchObject({
      usage: { input_tokens: 9, output_tokens: 3 },
      finishReason: "stop",
      model: "m-2026",
      outputChars: 2,
      providerRequestId: "up_1",
    });
    run.call.end();
    expect(run.call.aborts).toBe(0);
    expectNothingLeft(run);
  });

  it("shows usage to a client that asked", async () => {
    const run = start({ showsUsage: true });
    run.call.streams().data(ROLE + HI + STOP + USAGE + DONE);
    await run.settled();
    run.take();
    expect(run.text()).toBe(ROLE + HI + STOP + USAGE + DONE);
  });

  it("keeps the end mark back where something goes before it", async () => {
    const run = start({ holdTerminator: true });
    run.call
      .streams()
      .data(HI + STOP + DONE)
      .end();
    await run.settled();
    run.take();
    expect(run.text()).toBe(HI + STOP);
    await run.settled();
    expect(run.ends.map((end) => ({ ...end, heldTerminator: end.heldTerminator?.toString() }))).toEqual([
      { failure: null, terminated: false, heldTerminator: DONE },
    ]);
  });

  it("comes out the same wherever it was cut, and as whole events", async () => {
    const whole = `: comment\n\n${ROLE}${HI}${chunk({ content: "grüße 👋" })}${STOP}${USAGE}${DONE}`;
    const bytes = Buffer.from(whole);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 20 }), async (places) => {
        const run = start();
        run.call.streams();
        const edges = [0, ...places.sort((a, b) => a - b), bytes.length];
        for (let i = 1; i < edges.length; i++) {
          run.call.data(bytes.subarray(edges[i - 1], edges[i]));
          await run.settled();
          if (run.outcomes.length > 0 && run.given.length === 0) run.take();
        }
        run.call.end();
        await run.settled();
        expect(run.text()).toBe(whole.replace(USAGE, ""));
        expect(run.given.every((piece) => /\n\n$/.test(piece.toString()))).toBe(true);
        expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
      }),
      { numRuns: 60 },
    );
  });

  it("compressed by an upstream that was asked not to is decoded as it comes", async () => {
    const run = start();
    run.call.streams({ "content-encoding": "gzip" });
    const bytes = gzipSync(ROLE + HI + STOP + USAGE + DONE);
    run.call.data(bytes.subarray(0, 20), bytes.subarray(20)).end();
    expect(await run.attempt.outcome).toEqual({ kind: "streaming" });
    run.take();
    expect(await run.attempt.end).toMatchObject({ failure: null, terminated: true });
    expect(run.text()).toBe(ROLE + HI + STOP + DONE);
    expectNothingLeft(run);
  });

  describe("before its first output", () => {
    it.each([
      ["a role", ROLE],
      ["comments", ": ping\n\n: ping\n\n"],
      ["Azure's filter results", event({ choices: [], id: "", model: "", prompt_filter_results: [] })],
      ["usage", USAGE],
      ["an empty delta", chunk({})],
    ])("%s is held back", async (_name, preamble) => {
      const run = start({ showsUsage: true });
      run.call.streams().data(preamble);
      await run.settled();
      expect(run.outcomes).toEqual([]);
      run.call.data(HI);
      await run.settled();
      run.take();
      expect(run.text()).toBe(preamble + HI);
    });

    it.each([
      ["text", HI],
      ["reasoning", chunk({ reasoning_content: "hm" })],
      ["a refusal", chunk({ refusal: "no" })],
      ["a tool call", chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "" } }] })],
      ["a picture", chunk({ images: [{ type: "image_url" }] })],
      ["a finish reason", STOP],
    ])("%s is the commit point", async (_name, output) => {
      const run = start();
      run.call.streams().data(ROLE, output);
      await run.settled();
      expect(run.outcomes).toEqual([{ kind: "streaming" }]);
    });

    it.each([
      ["an error", ROLE + ERROR, "provider_error", 502],
      ["an error that names its status", event({ error: { code: 429, message: "slow" } }), "rate_limited", 429],
      ["a broken event", "data: {oops\n\n", "invalid_response", 200],
      ["a finish reason that says it failed", chunk({}, "error"), "provider_error", 502],
      ["an end mark", ROLE + DONE, "invalid_response", 200],
    ])("%s is a failed attempt, and nothing of it reaches the client", async (_name, bytes, kind, httpStatus) => {
      const run = start();
      run.call.streams().data(bytes);
      await run.settled();
      expect(failureOf(run)).toMatchObject({ class: kind, httpStatus });
      expect(run.call.aborts).toBe(1);
      run.call.data(HI);
      await run.settled();
      expect(run.outcomes).toHaveLength(1);
      expect(run.ends).toEqual([]);
      expectNothingLeft(run);
    });

    it("an in-band error is not dated by the headers of the 200 around it", async () => {
      const run = start();
      run.call.streams({ "retry-after": "9" }).data(event({ error: { code: 429, message: "slow" } }));
      await run.settled();
      expect(failureOf(run)).toMatchObject({ retryAfterMs: null, upstream: { contentType: "application/json" } });
    });

    it.each([
      ["an end", (call: ScriptedCall) => call.data(ROLE).end(), "invalid_response"],
      ["nothing at all", (call: ScriptedCall) => call.end(), "invalid_response"],
      ["a cut", (call: ScriptedCall) => call.data(ROLE).error("reset"), "invalid_response"],
      ["half an event", (call: ScriptedCall) => call.data(HI.slice(0, 20)).end(), "invalid_response"],
    ])("%s is a failed attempt, billed by estimate", async (_name, play, kind) => {
      const run = start();
      play(run.call.streams());
      await run.settled();
      expect(failureOf(run)).toMatchObject({ class: kind, ambiguous: true });
      expectNothingLeft(run);
    });

    it("a preamble over its bound is let go rather than lost", async () => {
      const run = start();
      run.call.streams();
      const filler = event({ model: "m", choices: [], padding: "x".repeat(60_000) });
      const count = Math.ceil(LIMITS.preambleBytesMax / filler.length) + 1;
      for (let i = 0; i < count; i++) run.call.data(filler);
      await run.settled();
      expect(run.outcomes).toEqual([{ kind: "streaming" }]);
      run.take();
      run.call.data(HI + STOP + DONE);
      expect(run.text()).toBe(filler.repeat(count) + HI + STOP + DONE);
    });
  });

  describe("after its first output", () => {
    const begun = async (change: Partial<AttemptSpec> = {}): Promise<Running> => {
      const run = start(change);
      run.call.streams().data(ROLE + HI);
      await run.settled();
      run.take();
      return run;
    };

    it.each<[string, (run: Running) => void, string]>([
      ["an error", ({ call }) => call.data(ERROR), "provider_error"],
      ["an error in the same piece as more output", ({ call }) => call.data(HI + ERROR + HI), "provider_error"],
      ["a broken event", ({ call }) => call.data("data: {oops\n\n"), "invalid_response"],
      [
        "an event that never ends",
        ({ call }) => call.data(Buffer.alloc(LIMITS.sseEventBytesMax + 1, 120)),
        "invalid_response",
      ],
      ["a cut", ({ call }) => call.error("reset"), "invalid_response"],
      ["a body that is not HTTP", ({ call }) => call.error("protocol"), "invalid_response"],
      ["an end without a finish reason", ({ call }) => call.end(), "invalid_response"],
      ["an end within an event", ({ call }) => call.data(STOP.slice(0, 30)).end(), "invalid_response"],
      ["silence", ({ clock }) => clock.advance(30_000), "timeout"],
    ])("%s breaks it off: no success, and what was used is kept", async (_name, play, kind) => {
      const run = await begun();
      run.call.data(event({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } }));
      play(run);
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: { class: kind, ambiguous: true }, terminated: false }]);
      expect(run.attempt.meter).toMatchObject({ finishReason: null, usage: { input_tokens: 9, output_tokens: 1 } });
      expect(run.text().startsWith(ROLE + HI)).toBe(true);
      expect(run.text()).not.toContain("boom");
      expect(run.text()).not.toContain("stop");
      expect(run.call.aborts).toBe(run.call.ended ? 0 : 1);
      expectNothingLeft(run);
      const sofar = run.text();
      run.call.data(HI, STOP, DONE).end();
      expect(run.text()).toBe(sofar);
    });

    it.each<[string, (run: Running) => void]>([
      ["an end without an end mark", ({ call }) => call.end()],
      ["a cut", ({ call }) => call.error("reset")],
      ["silence", ({ clock }) => clock.advance(5_000)],
      ["a broken event", ({ call }) => call.data("data: {oops\n\n")],
    ])("%s behind the finish reason takes nothing from it", async (_name, play) => {
      const run = await begun();
      run.call.data(STOP, USAGE);
      play(run);
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: null, terminated: false }]);
      expect(run.attempt.meter).toMatchObject({ finishReason: "stop", usage: { output_tokens: 3 } });
      expectNothingLeft(run);
    });

    it("an error behind the finish reason goes on as it came", async () => {
      const run = await begun();
      run.call.data(STOP, ERROR, DONE);
      await run.settled();
      expect(run.text()).toBe(ROLE + HI + STOP + ERROR + DONE);
      expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
    });

    it("a finish chunk without its blank line still counts, and what is said behind it stays apart", async () => {
      for (const cut of [1, 2]) {
        const run = await begun();
        run.call.data(STOP.slice(0, -cut)).end();
        await run.settled();
        expect(run.ends).toMatchObject([{ failure: null, terminated: false }]);
        expect(run.text()).toBe(ROLE + HI + STOP);
      }
    });

    it("an end mark without its blank line is one: nothing is said behind it", async () => {
      const run = await begun();
      run.call.data(STOP, "data: [DONE] ").end();
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
      expect(run.text()).toBe(`${ROLE}${HI}${STOP}data: [DONE] `);
    });

    it("an end mark ends it, also without a finish reason, and without an end of the body", async () => {
      const run = await begun();
      run.call.data(DONE);
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
      // The connection may end by itself, to be used again; held open, it is closed.
      expect(run.call.aborts).toBe(0);
      run.clock.advance(1_000);
      expect(run.call.aborts).toBe(1);
      expectNothingLeft(run);
    });

    it("what comes behind an error, in the same piece, is not for the client", async () => {
      const run = await begun();
      run.call.data(HI + ERROR + HI + STOP + DONE);
      await run.settled();
      expect(run.text()).toBe(ROLE + HI + HI);
      expect(run.attempt.meter).toMatchObject({ finishes: 0, outputChars: 4 });
    });

    it("what happens to the connection after the end changes nothing", async () => {
      const run = await begun();
      run.call.data(STOP + DONE);
      await run.settled();
      run.clock.advance(500);
      run.call.error("reset");
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
      expect(run.attempt.meter.endedAt).toBe(0);
      expect(run.call.aborts).toBe(0);
      expectNothingLeft(run);
    });

    it("what comes behind the end mark is not for the client", async () => {
      const run = await begun();
      run.call.data(STOP + DONE + HI, HI);
      run.call.end();
      expect(run.text()).toBe(ROLE + HI + STOP + DONE);
    });

    it("an end of the body leaves no timer to wait for it", async () => {
      const run = await begun();
      run.call.data(STOP).end();
      expectNothingLeft(run);
    });

    it("n answers want n finish reasons", async () => {
      const cut = await begun({ choices: 2 });
      cut.call.data(STOP).end();
      await cut.settled();
      expect(cut.ends).toMatchObject([{ failure: { class: "invalid_response" } }]);

      const both = await begun({ choices: 2 });
      both.call.data(STOP, chunk({ content: "x" }, null, 1), chunk({}, "length", 1)).end();
      await both.settled();
      expect(both.ends).toMatchObject([{ failure: null }]);
      expect(both.attempt.meter.finishReason).toBe("stop");

      const fewer = await begun({ choices: 2 });
      fewer.call.data(STOP, DONE).end();
      await fewer.settled();
      expect(fewer.ends).toMatchObject([{ failure: null }]);
    });
  });
});

describe("the timers", () => {
  it.each<[string, number, string, boolean, (call: ScriptedCall) => void]>([
    ["no connection", 5_000, "connection_failed", false, () => {}],
    ["no answer", 10_000, "timeout", true, (call) => call.sent()],
    ["no output after the headers", 10_000, "timeout", true, (call) => call.streams()],
    [
      "no output but a preamble and comments",
      10_000,
      "timeout",
      true,
      (call) => call.streams().data(ROLE, ": ping\n\n"),
    ],
  ])("%s is given up after %i ms: %s", async (_name, ms, kind, ambiguous, play) => {
    const run = start();
    play(run.call);
    run.clock.advance(ms - 1);
    await run.settled();
    expect(run.outcomes).toEqual([]);
    run.clock.advance(1);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: kind, ambiguous, broken: true });
    expect(run.call.aborts).toBe(1);
    expectNothingLeft(run);
  });

  it("the first token is waited for from the moment of sending, the hop from the start", async () => {
    const run = start();
    run.clock.advance(4_000);
    run.call.streams();
    run.clock.advance(9_999);
    await run.settled();
    expect(run.outcomes).toEqual([]);
    run.clock.advance(1);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "timeout" });

    const hop = start({ timeouts: { ...SPEC.timeouts, hopMs: 12_000 } });
    hop.clock.advance(4_000);
    hop.call.streams();
    hop.clock.advance(8_000);
    await hop.settled();
    expect(failureOf(hop)).toMatchObject({ class: "timeout" });
  });

  it("a chain with no time left fails at once", async () => {
    const run = start({ timeouts: { ...SPEC.timeouts, hopMs: 0 } });
    run.clock.advance(0);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "timeout", ambiguous: false });
  });

  it("every piece of the stream is a sign of life, a comment too", async () => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take();
    for (let i = 0; i < 10; i++) {
      run.clock.advance(29_000);
      run.call.data(i % 2 ? ": ping\n\n" : HI.slice(0, 5), i % 2 ? "" : HI.slice(5));
    }
    await run.settled();
    expect(run.ends).toEqual([]);
    run.clock.advance(30_000);
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "timeout" } }]);
  });

  it("a stream is over at its maximum, however alive", async () => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take();
    for (let i = 0; i < 59; i++) {
      run.clock.advance(10_000);
      run.call.data(HI);
    }
    await run.settled();
    expect(run.ends).toEqual([]);
    run.clock.advance(10_000);
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "timeout" } }]);
  });

  it("a client that does not read is not the upstream's silence; once it reads again, silence counts again", async () => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take(false);
    expect(run.call.paused).toBe(true);
    run.clock.advance(300_000);
    await run.settled();
    expect(run.ends).toEqual([]);
    run.attempt.resume();
    expect(run.call.paused).toBe(false);
    run.clock.advance(29_999);
    await run.settled();
    expect(run.ends).toEqual([]);
    run.clock.advance(1);
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "timeout" } }]);
    expect(run.call.aborts).toBe(1);
  });

  it("a client that never reads is waited for until the stream's maximum", async () => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take(false);
    run.clock.advance(600_000);
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "timeout" } }]);
    expectNothingLeft(run);
  });

  it("are one at a time", async () => {
    const run = start();
    expect(run.clock.timers).toBe(1);
    run.call.streams();
    for (let i = 0; i < 100; i++) run.call.data(HI);
    await run.settled();
    run.take(false);
    run.attempt.resume();
    expect(run.clock.timers).toBe(1);
  });
});

describe("a client that leaves", () => {
  const phases: [string, (run: Running) => void | Promise<void>, boolean][] = [
    ["while it connects", () => {}, false],
    ["once it is sent", ({ call }) => void call.sent(), true],
    ["after the headers", ({ call }) => void call.streams(), true],
    ["after the preamble", ({ call }) => void call.streams().data(ROLE), true],
  ];

  it.each(phases)("%s ends the call, once", async (_name, play, sent) => {
    const run = start();
    await play(run);
    run.cancel.cancel("client_left");
    run.cancel.cancel("shutdown");
    expect(run.call.aborts).toBe(1);
    run.clock.advance(1_000_000);
    await run.settled();
    expect(run.outcomes).toMatchObject([
      { kind: "failed", failure: { class: "cancelled", ambiguous: sent, broken: true } },
    ]);
    expect(run.outcomes).toHaveLength(1);
    expect(run.call.aborts).toBe(1);
    expectNothingLeft(run);
  });

  it.each([
    ["before the client takes", false],
    ["while the client takes", true],
  ])("within the stream, %s, ends the call, once", async (_name, takes) => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    if (takes) run.take();
    run.cancel.cancel("client_left");
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "cancelled" } }]);
    expect(run.call.aborts).toBe(1);
    expectNothingLeft(run);
  });

  it("behind the finish reason, but before the end, has left all the same", async () => {
    const run = start();
    run.call.streams().data(HI + STOP);
    await run.settled();
    run.cancel.cancel("client_left");
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "cancelled" } }]);
  });

  it("after the end changes nothing", async () => {
    const run = start();
    run.call
      .streams()
      .data(HI + STOP + DONE)
      .end();
    await run.settled();
    run.cancel.cancel("client_left");
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
    expect(run.call.aborts).toBe(0);
  });

  it("before the attempt began: nothing is sent", async () => {
    const transport = new ScriptedTransport();
    const cancel = new Cancel();
    cancel.cancel("client_left");
    const clock = new VirtualClock();
    const attempt = new Attempt(SPEC, transport, clock, cancel);
    expect(await attempt.outcome).toMatchObject({ kind: "failed", failure: { class: "cancelled", ambiguous: false } });
    expect(transport.calls).toEqual([]);
    expect(clock.timers).toBe(0);
  });
});

describe("a transport that calls back before it returns", () => {
  it.each<[string, (call: ScriptedCall) => void, string]>([
    ["with an error", (call) => call.error("connect"), "connection_failed"],
    ["with an error answer", (call) => call.sent().headers(503).end(), "overloaded"],
  ])("%s", async (_name, play, kind) => {
    const run = start({}, play);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: kind });
    expect(run.call.aborts).toBe(0);
    expectNothingLeft(run);
  });

  it("with a whole answer", async () => {
    const run = start({ stream: false }, (call) =>
      call.sent().headers(200, JSON_HEADERS).data(JSON.stringify(REPLY)).end(),
    );
    await run.settled();
    expect(run.outcomes).toMatchObject([{ kind: "reply" }]);
    expectNothingLeft(run);
  });

  it("with a whole stream", async () => {
    const run = start({}, (call) =>
      call
        .streams()
        .data(ROLE + HI + STOP + DONE)
        .end(),
    );
    await run.settled();
    run.attempt.take((bytes) => run.given.push(bytes) > 0);
    expect(run.text()).toBe(ROLE + HI + STOP + DONE);
    expect(run.ends).toMatchObject([{ failure: null, terminated: true }]);
    expect(run.call.aborts).toBe(0);
    expectNothingLeft(run);
  });

  it("with a stream that fails: the call is ended as soon as it can be", async () => {
    const run = start({}, (call) => call.streams().data(ERROR));
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: "provider_error" });
    expect(run.call.aborts).toBe(1);
  });

  it("with more than a client may leave unread: the call is paused as soon as it can be", () => {
    const run = start({}, (call) => call.streams().data(chunk({ content: "x".repeat(LIMITS.clientBufferBytesMax) })));
    expect(run.call.paused).toBe(true);
  });

  it("or throws: that is a connection that failed", async () => {
    const transport: Transport = {
      send() {
        throw new Error("bad header");
      },
      retain() {},
      async close() {},
    };
    const clock = new VirtualClock();
    const attempt = new Attempt(SPEC, transport, clock, new Cancel());
    expect(await attempt.outcome).toMatchObject({
      kind: "failed",
      failure: { class: "connection_failed", ambiguous: false },
    });
    expect(clock.timers).toBe(0);
  });
});

describe("a connection that fails", () => {
  it.each<[string, (call: ScriptedCall) => void, string, boolean]>([
    ["before it is sent", (call) => call.error("connect"), "connection_failed", false],
    ["in time", (call) => call.error("connect_timeout"), "connection_failed", false],
    ["after it is sent", (call) => call.sent().error("reset"), "connection_failed", true],
    ["after the head", (call) => call.streams().error("reset"), "invalid_response", true],
    ["with something that is not HTTP", (call) => call.sent().error("protocol"), "invalid_response", true],
  ])("%s", async (_name, play, kind, ambiguous) => {
    const run = start();
    play(run.call);
    await run.settled();
    expect(failureOf(run)).toMatchObject({ class: kind, ambiguous });
    expect(run.call.aborts).toBe(0);
    expectNothingLeft(run);
  });
});

describe("a client that is slow", () => {
  it("stops the upstream, and starts it again, once each", async () => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take(false);
    run.call.data(HI, HI);
    expect([run.call.pauses, run.call.resumes]).toEqual([1, 0]);
    run.attempt.resume();
    run.attempt.resume();
    expect([run.call.pauses, run.call.resumes]).toEqual([1, 1]);
  });

  it("that never takes holds no more than its bound and what was under way", async () => {
    const run = start();
    run.call.streams();
    let sent = 0;
    while (!run.call.paused && sent < 100 * 1024 * 1024) {
      run.call.data(HI);
      sent += HI.length;
      await run.settled();
    }
    expect(sent).toBeLessThan(LIMITS.clientBufferBytesMax + 2 * HI.length);
    run.take();
    expect(run.text().length).toBe(sent);
    // Nobody else would say that it has caught up: it was never behind.
    expect(run.call.paused).toBe(false);
  });

  it("does not have a compressed stream unfold in memory", async () => {
    const run = start();
    // 64 MB of stream in some 200 KB.
    const bomb = gzipSync(HI + chunk({ content: "x".repeat(100_000) }).repeat(640) + STOP + DONE);
    run.call.streams({ "content-encoding": "gzip" }).data(bomb).end();
    await run.attempt.outcome;
    let given = 0;
    run.attempt.take((bytes) => {
      given += bytes.length;
      return false;
    });
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(given).toBeLessThan(1024 * 1024);
    const pump = setInterval(() => run.attempt.resume(), 0);
    expect(await run.attempt.end).toMatchObject({ failure: null });
    clearInterval(pump);
    expect(given).toBeGreaterThan(64_000_000);
  });

  it("has the upstream wait for the decoder too", () => {
    const run = start();
    run.call
      .streams({ "content-encoding": "gzip" })
      .data(gzipSync(Buffer.from(HI.repeat(10)), { level: 0 }), Buffer.alloc(64 * 1024));
    expect(run.call.paused).toBe(true);
  });

  it("and an upstream that is done: what is left is given, and the end told once", async () => {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take(false);
    run.call.data(STOP + DONE).end();
    await run.settled();
    run.attempt.resume();
    await run.settled();
    expect(run.text()).toBe(HI + STOP + DONE);
    expect(run.ends).toHaveLength(1);
    expectNothingLeft(run);
  });

  const A = chunk({ content: "a" });
  const B = chunk({ content: "b" });

  /** A stream whose client is behind, and has two more events to come. */
  async function behind(): Promise<Running> {
    const run = start();
    run.call.streams().data(HI);
    await run.settled();
    run.take(false);
    run.call.data(A, B);
    expect(run.text()).toBe(HI);
    return run;
  }

  it("is given what came meanwhile in one piece, once it has caught up", async () => {
    const run = await behind();
    run.attempt.resume();
    expect(run.given.map(String)).toEqual([HI, A + B]);
    // It is behind again.
    expect([run.call.pauses, run.call.resumes]).toEqual([1, 0]);
    run.call.data(HI);
    run.attempt.resume();
    run.attempt.resume();
    expect(run.given.map(String)).toEqual([HI, A + B, HI]);
    expect([run.call.pauses, run.call.resumes]).toEqual([1, 1]);
  });

  it.each<[string, (run: Running) => unknown, string]>([
    ["the upstream breaks off", (run) => run.call.error("reset"), A + B],
    ["the upstream says an error", (run) => run.call.data(ERROR), A + B],
    ["the client leaves", (run) => run.cancel.cancel("client_left"), ""],
  ])("is given it before it hears of the end, where %s", async (_how, end, left) => {
    const run = await behind();
    end(run);
    expect(run.text()).toBe(HI + left);
    await run.settled();
    expect(run.ends).toHaveLength(1);
    run.attempt.resume();
    expect(run.text()).toBe(HI + left);
    expectNothingLeft(run);
  });

  it("is lent nothing while something waits, though its socket would take it", async () => {
    const run = start({}, (call) => call.streams().data(ROLE, HI, HI));
    await run.settled();
    run.attempt.take((bytes) => run.given.push(bytes) > 1, { pass: () => expect.unreachable() });
    const lent = Buffer.from(A);
    expect([run.call.paused, run.attempt.passes(lent, 0, lent.length)]).toEqual([true, true]);
    lent.fill("!");
    expect(run.given).toHaveLength(1);
    run.attempt.resume();
    expect(run.text()).toBe(ROLE + HI + HI + A);
    expect(run.call.paused).toBe(false);
  });
});

describe("a piece that is lent", () => {
  /** A stream whose client takes, with a pattern to know events by. */
  async function streaming(pass: (text: string) => boolean): Promise<Running> {
    const run = start({}, (call) => call.streams().data(ROLE, HI, HI));
    await run.settled();
    // What the taker is given is kept as it is; what is passed is lent.
    run.attempt.take((bytes) => run.given.push(bytes) > 0, {
      pass: (bytes, from, to, now) =>
        now === run.clock.monotonic() &&
        pass(bytes.toString("utf8", from, to)) &&
        run.given.push(Buffer.from(bytes.subarray(from, to))) > 0,
    });
    return run;
  }

  /** What the attempt says of it; the bytes are overwritten behind it, as the next read would. */
  function lend(run: Running, text: string): boolean {
    const lent = Buffer.from(`5\r\n${text}\r\n`);
    const passed = run.attempt.passes(lent, 3, lent.length - 2);
    lent.fill("!");
    return passed;
  }

  it("goes on at once where it says what the last one did but for its text, and is counted", async () => {
    const run = await streaming(() => true);
    run.clock.advance(1);
    expect(lend(run, chunk({ content: "hello" }))).toBe(true);
    expect(lend(run, chunk({ content: "a" }) + chunk({ content: "b" }))).toBe(true);
    run.call.data(STOP, DONE).end();
    expect(run.text()).toBe(
      ROLE + HI + HI + chunk({ content: "hello" }) + chunk({ content: "a" }) + chunk({ content: "b" }) + STOP + DONE,
    );
    expect(run.attempt.meter).toMatchObject({ outputChars: 11, finishes: 1 });
  });

  it("is activity: silence counts from the last one", async () => {
    const run = await streaming(() => true);
    for (let i = 0; i < 3; i++) {
      run.clock.advance(20_000);
      expect(lend(run, HI)).toBe(true);
    }
    await run.settled();
    expect(run.ends).toEqual([]);
    run.clock.advance(30_000);
    await run.settled();
    expect(run.ends).toMatchObject([{ failure: { class: "timeout" } }]);
    expectNothingLeft(run);
  });

  it("goes on all the same, in bytes of its own, where the client cannot take it at once", async () => {
    let asked = 0;
    const run = await streaming(() => ++asked > 1);
    expect([lend(run, HI), lend(run, HI)]).toEqual([true, true]);
    expect(run.text()).toBe(ROLE + HI.repeat(4));
  });

  it.each([
    ["says something else", STOP],
    ["says something else behind it", HI + STOP],
    ["is not whole", HI.slice(0, -1)],
    ["says nothing", ""],
  ])("is left to be read where it %s", async (_how, text) => {
    const run = await streaming(() => true);
    const { outputChars } = run.attempt.meter;
    expect(lend(run, text)).toBe(false);
    expect(run.text()).toBe(ROLE + HI + HI);
    expect(run.attempt.meter.outputChars).toBe(outputChars);
  });

  describe("and said in the client's dialect", () => {
    const said: StreamWriter = {
      write: (part) => (part.type === "text" ? Buffer.from(part.text) : null),
      end: () => Buffer.alloc(0),
    };
    const nobodyElse = { pass: () => expect.unreachable() };

    it("is given to the taker at once, stops a call whose client is behind, and is the last that came", async () => {
      const run = start({ writer: said }, (call) => call.streams().data(ROLE, HI, HI));
      await run.settled();
      run.attempt.take((bytes) => run.given.push(bytes) < 3, nobodyElse);
      run.clock.advance(20_000);
      expect(lend(run, chunk({ content: "one" }))).toBe(true);
      expect(run.call.paused).toBe(false);
      run.clock.advance(20_000);
      expect(lend(run, chunk({ content: "two" }))).toBe(true);
      expect([run.text(), run.call.paused]).toEqual(["hihionetwo", true]);
      run.attempt.resume();
      expect(run.attempt.meter.outputChars).toBe(10);
      run.clock.advance(30_000);
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: { class: "timeout" } }]);
      expect(lend(run, chunk({ content: "late" }))).toBe(false);
      expectNothingLeft(run);
    });

    it("ends the stream where it cannot be said", async () => {
      let texts = 0;
      const write = (part: StreamPart): Buffer | null => {
        if (part.type === "text" && ++texts > 2) throw new Error("no words");
        return said.write(part);
      };
      const run = start({ writer: { ...said, write } }, (call) => call.streams().data(ROLE, HI, HI));
      await run.settled();
      run.attempt.take((bytes) => run.given.push(bytes) > 0, nobodyElse);
      expect(lend(run, HI)).toBe(true);
      await run.settled();
      expect(run.ends).toMatchObject([{ failure: { class: "invalid_response", message: "no words" } }]);
      expect([run.text(), run.call.aborts]).toEqual(["hihi", 1]);
      expectNothingLeft(run);
    });
  });

  it("is not looked at behind half an event, before anybody takes, or when it is over", async () => {
    const waiting = start({}, (call) => call.streams().data(ROLE, HI, HI));
    await waiting.settled();
    expect(lend(waiting, HI)).toBe(false);
    const run = await streaming(() => true);
    run.call.data("data: ");
    expect(lend(run, HI)).toBe(false);
    run.cancel.cancel("client_left");
    expect(lend(run, HI)).toBe(false);
  });
});
