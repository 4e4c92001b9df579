import { expect, test } from "vitest";
import { chat, chatJson, type Loose, simulate } from "../../test/kit.ts";
import { charge, Invoice } from "./invoice.ts";

const STREAM = { stream: true, stream_options: { include_usage: true } };

test("a line for every billed call, with what was told to the peer", async () => {
  const simulator = await simulate();
  await chatJson(simulator, "fixed?input=6000&cached=5000&output=300");
  await (await chat(simulator, "echo", STREAM)).text();
  await (await chat(simulator, "echo", { stream: true })).text();
  await chatJson(simulator, "nousage");
  await chatJson(simulator, "quota");
  const { total, by_model, lines } = simulator.invoice();
  expect(lines[0]).toEqual({
    n: 1,
    request_id: "req_sim_1",
    dialect: "openai-chat",
    model: "fixed?input=6000&cached=5000&output=300",
    path: "/v1/chat/completions",
    stream: false,
    status: 200,
    input_tokens: 6000,
    cached_input_tokens: 5000,
    cache_write_tokens: 0,
    output_tokens: 300,
    reasoning_tokens: 0,
    reported: true,
    finished: true,
    client_closed: false,
  });
  expect(lines.map((line) => line.reported)).toEqual([true, true, false, false]);
  expect(lines.every((line) => line.finished)).toBe(true);
  expect(total).toMatchObject({ requests: 4, input_tokens: 6012, cached_input_tokens: 5000, output_tokens: 312 });
  expect(by_model.echo).toMatchObject({ requests: 2, output_tokens: 8 });
});

test("over HTTP: read and reset", async () => {
  const simulator = await simulate();
  await chatJson(simulator, "echo");
  const read = async () => (await fetch(`${simulator.url}/invoice`)).json() as Promise<Loose>;
  expect(await read()).toEqual(simulator.invoice());
  expect((await fetch(`${simulator.url}/invoice`, { method: "DELETE" })).status).toBe(204);
  expect((await read()).total.requests).toBe(0);
});

test("lines are bounded, sums are not, and a call from before a reset bills nothing after it", () => {
  const invoice = new Invoice(2);
  const call = { request_id: "r", model: "m", path: "/p", stream: true };
  const cost = { input: 10, cached: 1, cacheWrite: 2 };
  const bills = [1, 2, 3].map((n) => invoice.open({ ...call, n }, cost));
  for (const bill of bills) {
    charge(bill, 3, 1);
    charge(bill, 5, 2);
  }
  expect(invoice.report().lines.map((line) => line.n)).toEqual([2, 3]);
  expect(invoice.report().total).toEqual({
    requests: 3,
    input_tokens: 30,
    cached_input_tokens: 3,
    cache_write_tokens: 6,
    output_tokens: 15,
    reasoning_tokens: 6,
  });
  invoice.reset();
  for (const bill of bills) charge(bill, 50, 2);
  expect(invoice.report()).toMatchObject({ total: { output_tokens: 0 }, by_model: {}, lines: [] });
});
