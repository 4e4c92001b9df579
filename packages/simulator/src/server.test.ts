import { connect } from "node:net";
import { expect, test } from "vitest";
import { chat, type Loose, simulate, until } from "../test/kit.ts";
import { BODY_BYTES_MAX } from "./exchange.ts";
import { startSimulator } from "./index.ts";

test("a port of its own choice, or the asked one, which must be free", async () => {
  const simulator = await simulate();
  expect(simulator.url).toBe(`http://127.0.0.1:${simulator.port}`);
  await expect(startSimulator({ port: simulator.port })).rejects.toThrow("EADDRINUSE");
});

test("health, the model list, one model, and what is not there", async () => {
  const simulator = await simulate();
  const get = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(simulator.url + path, init);
    return { status: response.status, body: (await response.json()) as Loose };
  };
  expect(await get("/health")).toEqual({ status: 200, body: { status: "ok" } });
  const list = await get("/v1/models");
  expect(list.body.object).toBe("list");
  expect(list.body.data).toContainEqual(expect.objectContaining({ id: "echo", object: "model" }));
  expect((await get("/v1/models/acme/gpt%3Fafter=3")).body.id).toBe("acme/gpt?after=3");
  expect(await get("/v1/models/missing")).toMatchObject({ status: 404, body: { error: { code: "model_not_found" } } });
  expect((await get("/v1/v1/chat/completions", { method: "POST" })).status).toBe(404);
  expect((await get("/v1/chat/completions")).status).toBe(405);
  expect((await get("/script", { method: "PATCH" })).status).toBe(405);
});

test("keys: bad-key never, none only when one is required", async () => {
  const open = await simulate();
  const bad = { headers: { authorization: "Bearer bad-key" } };
  const refused = await chat(open, "echo", {}, bad);
  expect(refused.status).toBe(401);
  expect(((await refused.json()) as Loose).error.code).toBe("invalid_api_key");
  expect((await fetch(`${open.url}/v1/models`, bad)).status).toBe(401);
  expect((await chat(open, "echo")).status).toBe(200);
  const closed = await simulate({ requireKey: true });
  expect((await chat(closed, "echo")).status).toBe(401);
  expect((await chat(closed, "echo", {}, { headers: { authorization: "Bearer k" } })).status).toBe(200);
});

test("requests are counted by model, the latest kept with headers and body", async () => {
  const simulator = await simulate({ recentRequests: 2 });
  for (const model of ["echo", "echo", "quota"]) {
    await chat(simulator, model, {}, { headers: { authorization: "Bearer k", "x-test": "1" } });
  }
  const { total, by_model, recent } = simulator.requests();
  expect([total, by_model, recent.length]).toEqual([3, { echo: 2, quota: 1 }, 2]);
  expect(recent[1]).toMatchObject({
    n: 3,
    request_id: "req_sim_3",
    method: "POST",
    path: "/v1/chat/completions",
    model: "quota",
    stream: false,
    status: 429,
    headers: { "x-test": "1", authorization: "Bearer k" },
    body: { model: "quota" },
  });
  const shown = (await (await fetch(`${simulator.url}/requests`)).json()) as Loose;
  expect(shown.recent[0].headers.authorization).toBe("***");
  await fetch(`${simulator.url}/requests`, { method: "DELETE" });
  expect(simulator.requests().total).toBe(0);
});

test("rpm and tpm refuse what is too much, with hints", async () => {
  const simulator = await simulate();
  const first = await chat(simulator, "echo?rpm=1");
  expect(first.headers.get("x-ratelimit-limit-requests")).toBe("1");
  expect(first.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  const second = await chat(simulator, "echo?rpm=1");
  expect(second.status).toBe(429);
  expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(50);
  const tokens = await chat(simulator, "echo?tpm=7");
  expect(((await tokens.json()) as Loose).error).toMatchObject({ type: "tokens", code: "rate_limit_exceeded" });
  expect((await chat(simulator, "echo?tpm=8")).status).toBe(200);
});

test("a body over the limit is a 413, one that never ends is dropped", async () => {
  const simulator = await simulate();
  const body = Buffer.alloc(BODY_BYTES_MAX + 1, 32);
  const response = await fetch(`${simulator.url}/v1/chat/completions`, { method: "POST", body });
  expect(response.status).toBe(413);
  const socket = connect(simulator.port, "127.0.0.1");
  socket.write("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{");
  await new Promise((resolve) => setTimeout(resolve, 10));
  socket.destroy();
  expect((await chat(simulator, "echo")).status).toBe(200);
});

test("close ends open calls at once, twice is once", async () => {
  const simulator = await startSimulator();
  const streaming = await chat(simulator, "long?tokens=1000&between=1h", { stream: true });
  const hanging = chat(simulator, "hang").catch((error: unknown) => error);
  await until(() => simulator.requests().total === 2);
  await Promise.all([simulator.close(), simulator.close()]);
  expect(await hanging).toBeInstanceOf(Error);
  await expect(streaming.text()).rejects.toThrow();
  await expect(chat(simulator, "echo")).rejects.toThrow();
  expect(simulator.invoice().lines.every((line) => !line.client_closed && !line.finished)).toBe(true);
});
