import { expect, test } from "vitest";
import { chat, chatJson, type Loose, payloads, raw, simulate, until } from "../../test/kit.ts";
import { readRules, ScriptError } from "./rule.ts";
import { Script } from "./script.ts";

test("rules answer before the models, first match first, as often as they say", async () => {
  const simulator = await simulate();
  simulator.script([
    {
      match: { model: "gpt-*" },
      times: 1,
      response: { status: 429, headers: { "Retry-After": "3" }, body: { no: 1 } },
    },
    { match: { path: "/v1/models" }, response: { body: "as it is" } },
    { match: { model: "gpt-4o" }, times: 1, response: { body: { second: true } } },
  ]);
  const first = await chat(simulator, "gpt-4o");
  expect([first.status, first.headers.get("retry-after"), await first.json()]).toEqual([429, "3", { no: 1 }]);
  expect(await chatJson(simulator, "gpt-4o")).toEqual({ second: true });
  expect((await chatJson(simulator, "gpt-4o")).choices[0].message.content).toBe("alpha beta gamma");
  expect(await (await fetch(`${simulator.url}/v1/models`)).text()).toBe("as it is");
  simulator.reset();
  expect(((await (await fetch(`${simulator.url}/v1/models`)).json()) as Loose).object).toBe("list");
});

test("events, raw bytes, waits, hang and reset", async () => {
  const simulator = await simulate();
  simulator.script({ match: { model: "e" }, response: { events: ["{}", { a: 1 }, "[DONE]"], between_ms: 20 } });
  const start = performance.now();
  expect(await payloads(simulator, "e")).toEqual(["{}", '{"a":1}', "[DONE]"]);
  expect(performance.now() - start).toBeGreaterThan(35);
  simulator.script({ match: { model: "r" }, response: { raw: "data: x\r\r", delay_ms: 20 } });
  const answer = await chat(simulator, "r", { stream: true });
  expect([answer.headers.get("content-type"), await answer.text()]).toEqual([
    "text/event-stream; charset=utf-8",
    "data: x\r\r",
  ]);
  simulator.script({ match: { model: "x" }, response: { events: ["{}"], reset: true } });
  expect(await raw(simulator, { model: "x" })).toMatchObject({ body: "data: {}\n\n", error: "ECONNRESET" });
  simulator.script({ match: { model: "h" }, response: { hang: true } });
  const leaving = new AbortController();
  const hung = chat(simulator, "h", {}, { signal: leaving.signal });
  await until(() => simulator.requests().by_model.h === 1);
  leaving.abort();
  await expect(hung).rejects.toThrow();
});

test("a scripted answer bills what it says", async () => {
  const simulator = await simulate();
  simulator.script({ response: { body: {}, bill: { input_tokens: 7, output_tokens: 5, reasoning_tokens: 2 } } });
  await chatJson(simulator, "echo");
  expect(simulator.invoice().lines[0]).toMatchObject({
    input_tokens: 7,
    output_tokens: 5,
    reasoning_tokens: 2,
    reported: true,
    finished: true,
  });
});

test("over HTTP: add, list, clear, and a clear 400", async () => {
  const simulator = await simulate();
  const call = async (method: string, body?: string) => {
    const response = await fetch(`${simulator.url}/script`, { method, ...(body !== undefined && { body }) });
    return { status: response.status, body: response.status === 204 ? null : ((await response.json()) as Loose) };
  };
  expect((await call("POST", '{"response":{"status":503}}')).status).toBe(200);
  expect((await chat(simulator, "echo")).status).toBe(503);
  expect((await call("GET")).body.rules).toEqual([{ response: { status: 503 }, hits: 1 }]);
  expect((await call("DELETE")).status).toBe(204);
  expect((await chat(simulator, "echo")).status).toBe(200);
  const bad = await call("POST", '[{"response":{}},{"response":{"satus":500}}]');
  expect(bad.status).toBe(400);
  expect(bad.body.error.message).toContain("rules[1].response has no 'satus'");
  expect((await call("POST", "{")).status).toBe(400);
  expect((await call("GET")).body.rules).toEqual([]);
});

test.for([
  [5, "rules[0] must be an object"],
  [{}, "rules[0].response is missing"],
  [{ response: { body: 1, raw: "x" } }, "body and raw; give one of them"],
  [{ response: { status: 20 } }, "status must be an HTTP status"],
  [{ response: { events: "x" } }, "events must be an array"],
  [{ response: { headers: { "a b": "c" } } }, "headers must be"],
  [{ response: {}, times: 0 }, "times must be a whole number from 1"],
  [{ response: {}, match: { modle: "x" } }, "match has no 'modle'; it has model, path"],
  [{ response: { bill: { tokens: 5 } } }, "bill has no 'tokens'"],
  [{ response: {}, constructor: 1 }, "has no 'constructor'"],
] as const)("%j is refused: %s", ([rule, message]) => {
  expect(() => readRules(rule)).toThrow(ScriptError);
  expect(() => readRules(rule)).toThrow(message);
});

test("patterns", () => {
  const fits = (model: string, name: string) => {
    const script = new Script();
    script.add({ match: { model }, response: {} });
    return script.take(name, "/") !== null;
  };
  expect(fits("gpt-4o", "gpt-4o")).toBe(true);
  expect(fits("gpt-4o", "gpt-4o-mini")).toBe(false);
  expect(fits("*", "anything")).toBe(true);
  expect(fits("gpt-*", "gpt-4o")).toBe(true);
  expect(fits("*mini", "gpt-4o-mini")).toBe(true);
  expect(fits("g*4*i", "gpt-4o-mini")).toBe(true);
  expect(fits("ab*ba", "aba")).toBe(false);
  expect(fits("a*b*b", "ab")).toBe(false);
});
