import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { chat, chatJson, type Loose, payloads, raw, simulate, until } from "../../test/kit.ts";

const STREAM = { stream: true, stream_options: { include_usage: true } };

/** Counts the deltas with text in what a raw call saw. */
function deltas(body: string): number {
  return body.split('"delta":{"content":"').length - 1;
}

describe("errors", () => {
  test("the named ones have OpenAI's status and code", async () => {
    const simulator = await simulate();
    const expected: Record<string, [number, string | null]> = {
      error: [500, null],
      "error?status=529": [529, "server_is_overloaded"],
      "error?status=429": [429, "rate_limit_exceeded"],
      "error?status=418&code=teapot": [418, "teapot"],
      filter: [400, "content_filter"],
      context: [400, "context_length_exceeded"],
      quota: [429, "insufficient_quota"],
      badkey: [401, "invalid_api_key"],
      missing: [404, "model_not_found"],
    };
    for (const [model, [status, code]] of Object.entries(expected)) {
      for (const extra of [{}, STREAM]) {
        const response = await chat(simulator, model, extra);
        expect([model, response.status]).toEqual([model, status]);
        expect(((await response.json()) as Loose).error.code).toBe(code);
      }
    }
    expect(simulator.invoice().lines).toEqual([]);
  });

  test("times and every fail some of the calls", async () => {
    const simulator = await simulate();
    const statuses = async (model: string, calls: number) => {
      const out: number[] = [];
      for (let i = 0; i < calls; i++) out.push((await chat(simulator, model)).status);
      return out;
    };
    expect(await statuses("error?status=503&times=2", 4)).toEqual([503, 503, 200, 200]);
    expect(await statuses("error?every=2", 4)).toEqual([200, 500, 200, 500]);
    await chat(simulator, "error?status=429&times=1&retry_after=2");
    const spared = await chat(simulator, "error?status=429&times=1&retry_after=2");
    expect([spared.status, spared.headers.get("retry-after")]).toEqual([200, null]);
    simulator.reset();
    expect(await statuses("error?status=503&times=2", 1)).toEqual([503]);
  });

  test("a spared call knows nothing of the options that only the misbehaving model has", async () => {
    const simulator = await simulate();
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const tools = [{ type: "function", function: { name: "a", parameters: schema } }];
    const args = async (): Promise<string> => {
      const model = `tool?args=${encodeURIComponent('{"city":5}')}&times=1`;
      const answer = await chatJson(simulator, model, { tools, tool_choice: "required" });
      return answer.choices[0].message.tool_calls[0].function.arguments;
    };
    expect([await args(), await args()]).toEqual(['{"city":5}', '{"city":"sample"}']);
  });

  test("retry hints in seconds, as a date, in milliseconds, also on good answers", async () => {
    const simulator = await simulate();
    const hint = async (query: string) => (await chat(simulator, `error?status=429&${query}`)).headers;
    expect((await hint("retry_after=2")).get("retry-after")).toBe("2");
    const date = Date.parse((await hint("retry_after=date:5")).get("retry-after") ?? "");
    expect(date - Date.now()).toBeGreaterThan(3000);
    expect((await hint("retry_after_ms=1500")).get("retry-after-ms")).toBe("1500");
    expect((await hint("should_retry=0")).get("x-should-retry")).toBe("false");
    expect((await chat(simulator, "echo?retry_after=7")).headers.get("retry-after")).toBe("7");
  });

  test("error bodies in the shapes of other servers", async () => {
    const simulator = await simulate();
    const shape = async (name: string) => (await chat(simulator, `error?status=429&shape=${name}`)).text();
    expect(JSON.parse(await shape("azure"))).toEqual({
      error: { code: "rate_limit_exceeded", message: expect.any(String) },
    });
    expect(JSON.parse(await shape("string"))).toEqual({ code: "rate_limit_exceeded", error: "simulated error 429" });
    expect(JSON.parse(await shape("flat"))).toMatchObject({ object: "error", type: "requests" });
    expect(JSON.parse(await shape("detail"))).toEqual({ detail: "simulated error 429" });
    expect(JSON.parse(await shape("number"))).toMatchObject({ error: { code: 429 } });
    expect(await shape("none")).toBe("");
  });

  test("error200 and errorafter say it in band", async () => {
    const simulator = await simulate();
    const json = await chat(simulator, "error200");
    expect(json.status).toBe(200);
    expect(((await json.json()) as Loose).error.type).toBe("server_error");
    expect(await payloads(simulator, "error200")).toEqual([expect.stringContaining('"error"')]);
    const after = await payloads(simulator, "errorafter?after=2&status=429&done=1");
    expect(after).toHaveLength(5);
    expect(JSON.parse(after[3] ?? "").error.code).toBe("rate_limit_exceeded");
    expect(after[4]).toBe("[DONE]");
    expect(await (await chat(simulator, "errorafter?named=1", STREAM)).text()).toContain("event: error\ndata: {");
    expect((await chat(simulator, "errorafter")).status).toBe(500);
    expect(simulator.invoice().lines).toHaveLength(2);
    expect(simulator.invoice().lines.every((line) => line.output_tokens > 0 && !line.reported)).toBe(true);
  });
});

describe("broken bodies", () => {
  test("html, empty, half", async () => {
    const simulator = await simulate();
    const html = await chat(simulator, "html");
    expect([html.status, html.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect((await chat(simulator, "html?status=502", STREAM)).status).toBe(502);
    const empty = await chat(simulator, "empty");
    expect([empty.status, await empty.text()]).toEqual([200, ""]);
    const half = await raw(simulator, { model: "half" });
    expect(half.error).toBeNull();
    expect(() => JSON.parse(half.body)).toThrow();
    const cut = await raw(simulator, { model: "half", ...STREAM });
    expect(cut.body).toMatch(/^data: \{"id"/);
    expect(cut.body).not.toContain("\n");
  });

  test("broken goes on after an event that is no JSON", async () => {
    const simulator = await simulate();
    const all = await payloads(simulator, "broken?after=1", { stream_options: { include_usage: true } });
    const bad = all.map((data) => {
      try {
        return data === "[DONE]" || JSON.parse(data) !== undefined;
      } catch {
        return false;
      }
    });
    expect(bad).toEqual([true, true, false, true, true, true, true, true]);
    expect(simulator.invoice().lines[0]).toMatchObject({ finished: true, reported: true, output_tokens: 4 });
    await expect((await chat(simulator, "broken")).json()).rejects.toThrow();
  });

  test("longline and endlessline", async () => {
    const simulator = await simulate();
    const [, line] = await payloads(simulator, "longline?bytes=1000000", { max_tokens: 5 });
    expect(JSON.parse(line ?? "").choices[0].delta.content).toHaveLength(1_000_000);
    const endless = await raw(simulator, { model: "endlessline?bytes=300000", ...STREAM });
    expect(endless.body).toHaveLength(300_000);
    expect(endless.body).not.toContain("\n");
  });

  test("gzip, as JSON and as a stream", async () => {
    const simulator = await simulate();
    const whole = await raw(simulator, { model: "gzip" });
    expect(whole.headers["content-encoding"]).toBe("gzip");
    const answer = JSON.parse(gunzipSync(Buffer.concat(whole.pieces)).toString());
    expect(answer.choices[0].message.content).toBe("alpha beta gamma");
    const events = await payloads(simulator, "gzip?between=1ms&chunk=5");
    expect(events.at(-1)).toBe("[DONE]");
    expect(events).toHaveLength(6);
    expect(simulator.invoice().lines.every((line) => line.finished)).toBe(true);
  });

  test("nodone, CRLF, comments, an unfinished last event", async () => {
    const simulator = await simulate();
    const text = async (model: string) => (await chat(simulator, model, STREAM)).text();
    expect(await text("nodone")).not.toContain("[DONE]");
    expect((await text("echo?crlf=1")).replaceAll("\r\n", "")).not.toContain("\n");
    expect((await text("echo?comments=1")).split(": keep-alive\n\n")).toHaveLength(8);
    expect(await text("echo?quirk=no_final_blank")).toMatch(/\[DONE\]\n$/);
    expect(await text("echo?quirk=no_final_blank")).not.toMatch(/\[DONE\]\n\n$/);
  });
});

describe("broken connections", () => {
  test("reset before an answer bills nothing", async () => {
    const simulator = await simulate();
    expect(await raw(simulator, { model: "reset" })).toMatchObject({ status: null, error: "ECONNRESET" });
    expect(simulator.invoice().total.requests).toBe(0);
    expect(simulator.requests().by_model).toEqual({ reset: 1 });
  });

  test("reset and cut after some deltas bill what was generated", async () => {
    const simulator = await simulate();
    const reset = await raw(simulator, { model: "reset?after=2", ...STREAM });
    expect([deltas(reset.body), reset.error]).toEqual([2, "ECONNRESET"]);
    const cut = await raw(simulator, { model: "cut?after=2", ...STREAM });
    expect([deltas(cut.body), cut.error]).toEqual([2, null]);
    expect(cut.body).not.toContain('"finish_reason":"');
    const fin = await raw(simulator, { model: "cut?after=2&fin=1", ...STREAM });
    expect([deltas(fin.body), fin.error]).toEqual([2, "ECONNRESET"]);
    for (const line of simulator.invoice().lines) {
      expect(line).toMatchObject({ output_tokens: 2, finished: false, reported: false, client_closed: false });
    }
  });

  test("JSON breaks in the middle of its body", async () => {
    const simulator = await simulate();
    for (const model of ["reset?after=1", "cut", "cut?fin=1"]) {
      const seen = await raw(simulator, { model });
      expect(seen.error).toBe("ECONNRESET");
      expect(seen.body.length).toBeGreaterThan(50);
      expect(() => JSON.parse(seen.body)).toThrow();
    }
  });

  test("hang answers nothing until the peer leaves, who is then billed for the input", async () => {
    const simulator = await simulate();
    const leaving = new AbortController();
    const asked = chat(simulator, "hang", {}, { signal: leaving.signal });
    await until(() => simulator.requests().total === 1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await until(() => simulator.invoice().lines[0]?.client_closed === true);
    expect(simulator.invoice().lines[0]).toMatchObject({
      status: 0,
      input_tokens: 4,
      output_tokens: 0,
      finished: false,
      reported: false,
    });
  });

  test("a stream that stalls bills exactly the deltas it sent", async () => {
    const simulator = await simulate();
    const body = { model: "hang?after=400&tokens=800&input=2000", ...STREAM };
    let text = "";
    await raw(simulator, body, (piece, leave) => {
      text += piece.toString();
      if (deltas(text) === 400) leave();
    });
    await until(() => simulator.invoice().lines[0]?.client_closed === true);
    expect(simulator.invoice().total).toMatchObject({ input_tokens: 2000, output_tokens: 400 });
  });

  test("prestall opens without output", async () => {
    const simulator = await simulate();
    const opened = async (model: string) => {
      const seen = await raw(simulator, { model, ...STREAM }, (_piece, leave) => setTimeout(leave, 10));
      return seen.body.split("data: ").length - 1;
    };
    expect(await opened("prestall")).toBe(1);
    expect(await opened("prestall?preamble=3")).toBe(3);
    const headersOnly = await chat(simulator, "prestall?preamble=0", STREAM);
    expect(headersOnly.status).toBe(200);
    await headersOnly.body?.cancel();
  });

  test("faults spare the calls after `times`", async () => {
    const simulator = await simulate();
    expect((await raw(simulator, { model: "reset?times=1" })).error).toBe("ECONNRESET");
    expect((await chatJson(simulator, "reset?times=1")).choices[0].message.content).toBe("alpha beta gamma");
  });
});
