import { expect, test } from "vitest";
import { chat, raw, simulate, until } from "../../test/kit.ts";

const STREAM = { stream: true, stream_options: { include_usage: true } };

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

test("latency, first_token and between take their time", async () => {
  const simulator = await simulate();
  const whole = (model: string, extra: object) => elapsed(async () => (await chat(simulator, model, extra)).text());
  const headers = (model: string, extra: object) =>
    elapsed(async () => void (await chat(simulator, model, extra)).body?.cancel());
  expect(await whole("echo?latency=40ms", {})).toBeGreaterThan(35);
  expect(await headers("slow?first_token=40ms", STREAM)).toBeGreaterThan(35);
  expect(await whole("echo?between=20ms", STREAM)).toBeGreaterThan(35);
  expect(await whole("echo?first_token=20ms&between=10ms", {})).toBeGreaterThan(35);
  expect(await whole("error?latency=40ms", STREAM)).toBeGreaterThan(35);
});

test("a preamble goes out before the first token is due", async () => {
  const simulator = await simulate();
  const response = await chat(simulator, "slow?first_token=10s&preamble=1", STREAM);
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toContain('"role":"assistant"');
  await reader?.cancel();
});

test("keepalive comments fill the wait", async () => {
  const simulator = await simulate();
  const text = await (await chat(simulator, "slow?first_token=45ms&keepalive=10ms", STREAM)).text();
  const before = text.slice(0, text.indexOf('"content":"alpha'));
  expect(before.split(": keep-alive\n\n").length).toBeGreaterThan(2);
});

test("chunk cuts the bytes, wherever a character ends", async () => {
  const simulator = await simulate();
  const messages = [{ role: "user", content: "žluťoučký 🐎" }];
  const seen = await raw(simulator, { model: "echo?chunk=1", messages });
  expect(seen.pieces.length).toBeGreaterThan(100);
  expect(JSON.parse(seen.body).choices[0].message.content).toBe("žluťoučký 🐎");
  const streamed = await raw(simulator, { model: "echo?chunk=10&between=1ms", messages, ...STREAM });
  expect(streamed.body).toContain("🐎");
  expect(streamed.body).toMatch(/\[DONE\]\n\n$/);
});

test("sub-millisecond gaps keep the mean rate", async () => {
  const simulator = await simulate();
  const ms = await elapsed(async () => (await chat(simulator, "long?tokens=500&between=100us", STREAM)).text());
  expect(ms).toBeGreaterThan(45);
});

test("a peer that leaves stops the generation", async () => {
  const simulator = await simulate();
  const body = { model: "long?tokens=5000&between=1ms", ...STREAM };
  await raw(simulator, body, (_piece, leave) => leave());
  await until(() => simulator.invoice().lines[0]?.client_closed === true);
  const [line] = simulator.invoice().lines;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(simulator.invoice().lines).toEqual([line]);
  expect(line).toMatchObject({ finished: false, reported: false });
  expect(line?.output_tokens).toBeLessThan(1000);
});

test("a slow reader holds an endless answer back", async () => {
  const simulator = await simulate();
  const response = await chat(simulator, "endlessline?bytes=500000000", STREAM);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(simulator.invoice().lines[0]?.finished).toBe(false);
  await response.body?.cancel();
  await until(() => simulator.invoice().lines[0]?.client_closed === true);
});
