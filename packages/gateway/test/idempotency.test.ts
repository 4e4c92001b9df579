import { afterAll, beforeAll, expect, test } from "vitest";
import { errorOf, seen } from "./support/answers.ts";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";
import { until } from "./support/until.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    chains: {
      default: ["sim/echo"],
      slow: ["sim/slow?first_token=400ms"],
      drip: ["sim/long?tokens=20&between=20ms"],
      once: ["sim/error?status=500&times=2"],
    },
  });
});
afterAll(() => gateway.close());

const body = (model: string, content = "hi", more = {}) => ({ model, messages: [{ role: "user", content }], ...more });
const post = (key: string, sent: unknown, signal?: AbortSignal) =>
  gateway.post(sent, { headers: { "idempotency-key": key }, ...(signal && { signal }) });
const calls = (model: string) => gateway.simulator.invoice().lines.filter((line) => line.model === model).length;

test.each([false, true])("the same key and body again get the same answer (stream: %s)", async (stream) => {
  const before = calls("echo");
  const first = await seen(await post(`same-${stream}`, body("default", "hi", { stream })));
  const again = await seen(await post(`same-${stream}`, body("default", "hi", { stream })));
  expect(again.status).toBe(200);
  expect(again.text).toBe(first.text);
  expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
  expect(first.headers.get("idempotent-replayed")).toBeNull();
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.headers.get("x-sluicegate-deployment")).toBe("sim/echo");
  const id = again.headers.get("x-request-id") ?? "";
  expect(id).not.toBe(first.headers.get("x-request-id"));
  expect(calls("echo")).toBe(before + 1);
  expect(await gateway.row(id)).toMatchObject({ status: "ok", cost_micro_usd: 0, attempts: [] });
});

test("another body under the same key is a conflict, and costs nothing", async () => {
  await post("conflict", body("default"));
  const other = await post("conflict", body("default", "something else"));
  expect(other.status).toBe(422);
  expect(await errorOf(other)).toMatchObject({ code: "idempotency_conflict" });
});

test("keys of two client keys are two keys", async () => {
  const made = await post("shared", body("default"));
  expect(made.headers.get("idempotent-replayed")).toBeNull();
  const stranger = await gateway.post(body("default"), { key: null, headers: { "idempotency-key": "shared" } });
  expect(stranger.status).toBe(401);
});

test("requests that come while the first one runs wait for its answer", async () => {
  const before = calls("slow?first_token=400ms");
  const answers = await Promise.all([1, 2, 3].map(async () => seen(await post("joined", body("slow")))));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(2);
  expect(calls("slow?first_token=400ms")).toBe(before + 1);
});

test("a client that leaves does not stop the call: its retry gets the answer", async () => {
  const model = "long?tokens=20&between=20ms";
  const leave = new AbortController();
  const first = await post("left", body("drip", "hi", { stream: true }), leave.signal);
  const reader = first.body?.getReader();
  await reader?.read();
  leave.abort();
  const again = await seen(await post("left", body("drip", "hi", { stream: true })));
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect(again.text).toContain("[DONE]");
  expect(calls(model)).toBe(1);
  await until("the call to be finished", () =>
    gateway.simulator.invoice().lines.some((line) => line.model === model && line.finished),
  );
});

test("a failure is not remembered", async () => {
  expect((await post("failed", body("once"))).status).toBe(502);
  const again = await post("failed", body("once"));
  expect(again.status).toBe(200);
  expect(again.headers.get("idempotent-replayed")).toBeNull();
});

test("a key that is too long is a 400, which no other config could make a call", async () => {
  const refused = await post("k".repeat(256), body("default"));
  expect(await errorOf(refused)).toMatchObject({ code: "invalid_request", param: "idempotency-key" });
  expect(await gateway.row(refused.headers.get("x-request-id") ?? "")).toMatchObject({
    status: "refused",
    facts: null,
  });
});
