import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { ANTHROPIC_HEADERS, eventsOf } from "../test/anthropic.ts";
import { type Loose, simulate, until } from "../test/kit.ts";
import type { Simulator } from "./index.ts";

/** How one vendor is called: the same conversation, in its own words. */
interface Vendor {
  readonly name: string;
  path(model: string, stream: boolean): string;
  body(model: string, stream: boolean): object;
  readonly headers: Record<string, string>;
  /** The event that ends a stream properly. */
  readonly end: RegExp;
  /** The texts of a stream, joined. */
  text(data: Loose): string;
  errorOf(body: Loose): string;
}

const VENDORS: readonly Vendor[] = [
  {
    name: "anthropic",
    path: () => "/v1/messages",
    body: (model, stream) => ({
      model,
      stream,
      max_tokens: 5000,
      messages: [{ role: "user", content: "a b c d e f" }],
    }),
    headers: ANTHROPIC_HEADERS,
    end: /"type":"message_stop"/,
    text: (data) => data.delta?.text ?? "",
    errorOf: (body) => body.error.type,
  },
  {
    name: "gemini",
    path: (model, stream) =>
      `/v1beta/models/${encodeURIComponent(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: () => ({ contents: [{ role: "user", parts: [{ text: "a b c d e f" }] }] }),
    headers: { "x-goog-api-key": "k" },
    end: /"finishReason":"STOP"/,
    text: (data) => data.candidates?.[0]?.content?.parts?.[0]?.text ?? "",
    errorOf: (body) => body.error.status,
  },
];

interface Seen {
  readonly status: number | null;
  readonly headers: Loose;
  readonly body: string;
  readonly error: string | null;
}

/** Calls with node:http, which tells how a connection ended. `leave` is told of every piece and may go. */
function call(
  simulator: Simulator,
  vendor: Vendor,
  model: string,
  stream: boolean,
  leave?: (body: string) => boolean,
): Promise<Seen> {
  return new Promise((resolve) => {
    let seen: Seen = { status: null, headers: {}, body: "", error: null };
    const options = { method: "POST", agent: false, headers: vendor.headers };
    const req = request(`${simulator.url}${vendor.path(model, stream)}`, options, (res) => {
      seen = { ...seen, status: res.statusCode ?? null, headers: res.headers };
      res.on("data", (piece: Buffer) => {
        seen = { ...seen, body: seen.body + piece };
        if (leave?.(seen.body) === true) req.destroy();
      });
      res.on("end", () => resolve(seen));
      res.on("error", (error: NodeJS.ErrnoException) => resolve({ ...seen, error: error.code ?? error.message }));
    });
    req.on("error", (error: NodeJS.ErrnoException) => resolve({ ...seen, error: error.code ?? error.message }));
    req.end(JSON.stringify(vendor.body(model, stream)));
  });
}

describe.for(VENDORS)("$name", (vendor) => {
  test("errors have the vendor's words", async () => {
    const simulator = await simulate();
    const words: Record<string, [number, string]> = {
      "error?status=400": [400, "invalid_request_error INVALID_ARGUMENT"],
      "error?status=401": [401, "authentication_error UNAUTHENTICATED"],
      "error?status=403": [403, "permission_error PERMISSION_DENIED"],
      "error?status=429": [429, "rate_limit_error RESOURCE_EXHAUSTED"],
      "error?status=500": [500, "api_error INTERNAL"],
      "error?status=503": [503, "api_error UNAVAILABLE"],
      "error?status=504": [504, "timeout_error DEADLINE_EXCEEDED"],
      "error?status=529": [529, "overloaded_error UNAVAILABLE"],
      missing: [404, "not_found_error NOT_FOUND"],
      context: [400, "invalid_request_error INVALID_ARGUMENT"],
      filter: [400, "invalid_request_error INVALID_ARGUMENT"],
      error200: [200, "api_error INTERNAL"],
    };
    for (const [model, [status, types]] of Object.entries(words)) {
      const seen = await call(simulator, vendor, model, false);
      expect([model, seen.status]).toEqual([model, status]);
      expect(types.split(" ")).toContain(vendor.errorOf(JSON.parse(seen.body)));
    }
    expect(simulator.invoice().total.requests).toBe(0);
  });

  test("an error within a stream follows what was sent, and nothing follows it", async () => {
    const simulator = await simulate();
    const { body } = await call(simulator, vendor, "errorafter?after=2&status=529&message=full", true);
    const all = eventsOf(body).map(({ data }) => data);
    expect(all.map(vendor.text).join("").trim()).toBe("a b");
    expect(all.at(-1).error.message).toBe("full");
    expect(body).not.toMatch(vendor.end);
    expect(simulator.invoice().lines[0]).toMatchObject({ reported: false, finished: false });
    const first = eventsOf((await call(simulator, vendor, "error200", true)).body);
    expect(first).toHaveLength(1);
    expect(first[0]?.data.error).toBeDefined();
  });

  test("faults of the connection", async () => {
    const simulator = await simulate();
    const cut = await call(simulator, vendor, "cut?after=2", true);
    expect(cut.error).toBeNull();
    expect(cut.body).not.toMatch(vendor.end);
    expect((await call(simulator, vendor, "reset?after=1", true)).error).toBe("ECONNRESET");
    expect((await call(simulator, vendor, "reset", false)).error).toBe("ECONNRESET");
    expect((await call(simulator, vendor, "half", false)).body).not.toMatch(/\}$/);
    expect((await call(simulator, vendor, "html?status=502", true)).headers["content-type"]).toContain("text/html");
    const broken = await call(simulator, vendor, "broken?after=1", true);
    expect(() => eventsOf(broken.body)).toThrow();
    expect(broken.body).toMatch(vendor.end);
    const open = vendor.name === "anthropic" ? "message_start" : "candidates";
    const stalled = await call(simulator, vendor, "hang?after=1", true, (body) => body.includes(open));
    expect(stalled.error).toBe("ECONNRESET");
    await until(() => simulator.invoice().lines.at(-1)?.client_closed === true);
  });

  test("bytes in pieces and line ends do not change what is said", async () => {
    const simulator = await simulate();
    for (const model of ["echo?chunk=3", "echo?crlf=1", "echo?crlf=0", "echo?comments=1", "echo?between=1ms"]) {
      const { body } = await call(simulator, vendor, model, true);
      expect(
        eventsOf(body)
          .map(({ data }) => vendor.text(data))
          .join(""),
      ).toBe("a b c d e f");
    }
  });

  test("waiting streams say that they are alive in the vendor's way", async () => {
    const { body } = await call(await simulate(), vendor, "echo?first_token=40ms&keepalive=10ms", true);
    const alive = vendor.name === "anthropic" ? /event: ping\ndata: \{"type": "ping"\}/g : /: keep-alive\r\n/g;
    expect(body.match(alive)?.length).toBeGreaterThan(1);
  });

  test("`times` spares the later calls, scripts answer first and bill what they say", async () => {
    const simulator = await simulate();
    const statuses = [];
    for (let i = 0; i < 3; i++) {
      statuses.push((await call(simulator, vendor, "error?status=503&times=2", false)).status);
    }
    expect(statuses).toEqual([503, 503, 200]);
    simulator.script({ match: { model: "echo" }, times: 1, response: { status: 418, body: { a: 1 } } });
    const bill = { input_tokens: 7, output_tokens: 2 };
    simulator.script({ match: { model: "echo" }, response: { events: [{ type: "ping" }, { type: "odd" }], bill } });
    expect((await call(simulator, vendor, "echo", false)).status).toBe(418);
    const { body } = await call(simulator, vendor, "echo", true);
    expect(eventsOf(body).map(({ event }) => event)).toEqual(
      vendor.name === "anthropic" ? ["ping", "odd"] : [null, null],
    );
    expect(simulator.invoice().lines.at(-1)).toMatchObject({ model: "echo", input_tokens: 7, output_tokens: 2 });
  });

  test("a stream that is left bills what it had made, one that is read what it says", async () => {
    const simulator = await simulate();
    const model = "long?tokens=200&between=2ms";
    await call(simulator, vendor, model, true, (body) => body.split("lorem").length > 2);
    await until(() => simulator.invoice().lines[0]?.client_closed === true);
    const left = simulator.invoice().lines[0]?.output_tokens ?? 0;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(200);
    await call(simulator, vendor, "long?tokens=200", true);
    expect(simulator.invoice().lines[1]).toMatchObject({ output_tokens: 200, reported: true, finished: true });
  });
});

test("Anthropic's limits are told in its own headers, with times", async () => {
  const simulator = await simulate();
  const [vendor] = VENDORS;
  if (vendor === undefined) throw new Error("no vendor");
  const { headers } = await call(simulator, vendor, "echo?rpm=5&tpm=50000", false);
  expect(headers).toMatchObject({
    "anthropic-ratelimit-requests-limit": "5",
    "anthropic-ratelimit-requests-remaining": "4",
    "anthropic-ratelimit-requests-reset": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    "anthropic-ratelimit-tokens-remaining": "50000",
  });
  expect(headers["x-ratelimit-limit-requests"]).toBeUndefined();
  const refused = await call(simulator, vendor, "echo?rpm=0", false);
  expect(refused.headers).toMatchObject({ "retry-after": "60", "x-should-retry": "true" });
  expect(refused.headers["retry-after-ms"]).toBeUndefined();
});
