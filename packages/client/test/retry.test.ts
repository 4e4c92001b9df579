import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type ChatRequest, ConnectionError, OverloadedError, Sluicegate, TimeoutError } from "../src/index.ts";
import { beginStream, chunk, json, refuse, signal, sse, startTinyGateway } from "./tiny-gateway.ts";

const ASK: ChatRequest = { model: "default", messages: [{ role: "user", content: "hi" }] };
const OK = json({ choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }] });
const DRAINING = refuse(503, "draining", {}, { "retry-after": "0" });
const lose = (response: { destroy(): void }) => response.destroy();

// Full jitter: no wait at all where the answer does not ask for one.
beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  return () => vi.restoreAllMocks();
});

describe("retries", () => {
  it("come back to a gateway that is draining", async () => {
    const gateway = await startTinyGateway(DRAINING, DRAINING, OK);
    expect((await gateway.client().chat(ASK)).message.text).toBe("ok");
    expect(gateway.received).toHaveLength(3);
  });

  it("come to an end", async () => {
    const gateway = await startTinyGateway(DRAINING);
    await expect(gateway.client().chat(ASK)).rejects.toBeInstanceOf(OverloadedError);
    expect(gateway.received).toHaveLength(3);
    await expect(gateway.client({ maxRetries: 0 }).stream(ASK).final()).rejects.toBeInstanceOf(OverloadedError);
    expect(gateway.received).toHaveLength(4);
  });

  it.each([
    [503, "overloaded", { "x-should-retry": "true", "retry-after": "0" }],
    [503, "no_healthy_deployment", { "retry-after": "0" }],
    [503, "draining", { "x-should-retry": "false" }],
    [429, "rate_limit_exceeded", { "retry-after": "0" }],
    [502, "all_providers_failed", {}],
    [504, "provider_timeout", {}],
    [500, "internal", {}],
  ])("leave %i %s to the gateway", async (status, code, headers) => {
    const gateway = await startTinyGateway(refuse(status, code, {}, headers as Record<string, string>));
    await expect(gateway.client().chat(ASK)).rejects.toMatchObject({ code });
    expect(gateway.received).toHaveLength(1);
  });

  it("do not wait for longer than a minute", async () => {
    const gateway = await startTinyGateway(refuse(503, "draining", {}, { "retry-after": "61" }));
    await expect(gateway.client().chat(ASK)).rejects.toMatchObject({ code: "draining", retryAfterMs: 61_000 });
    expect(gateway.received).toHaveLength(1);
  });

  it("try a refused connection again, whatever the request", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const fetch = vi.fn(globalThis.fetch);
    const client = new Sluicegate({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "k", fetch });
    const error = await client.chat({ ...ASK, gateway: { side_effecting: true } }).catch((reason) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: "connection_lost", status: undefined, requestId: undefined });
    expect(error.cause).toBeInstanceOf(TypeError);
    expect(fetch).toHaveBeenCalledTimes(3);
  });

  it("try a connection again that was lost before an answer", async () => {
    const gateway = await startTinyGateway(lose, lose, OK);
    expect((await gateway.client().chat(ASK)).message.text).toBe("ok");
    expect(gateway.received).toHaveLength(3);
  });

  const afterTools: ChatRequest = { ...ASK, messages: [{ role: "tool", tool_call_id: "a", content: "done" }] };
  it.each<[string, ChatRequest, number]>([
    ["has side effects", { ...ASK, gateway: { side_effecting: true } }, 1],
    ["holds a tool result", afterTools, 1],
    ["holds a tool result that is said to be safe", { ...afterTools, gateway: { retry_after_tool_results: true } }, 2],
  ])("of a lost request that %s", async (_, request, sent) => {
    const gateway = await startTinyGateway(lose, OK);
    await gateway
      .client()
      .chat(request)
      .catch(() => undefined);
    expect(gateway.received).toHaveLength(sent);
  });

  it("stop once an answer has begun", async () => {
    const gateway = await startTinyGateway((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"choices":', () => response.destroy());
    });
    await expect(gateway.client().chat(ASK)).rejects.toMatchObject({
      name: "ConnectionError",
      code: "connection_lost",
    });
    expect(gateway.received).toHaveLength(1);
  });

  it("stop once a stream has begun", async () => {
    const gateway = await startTinyGateway((response) => {
      beginStream(response);
      response.write(sse(chunk({ content: "a" })), () => response.destroy());
    });
    await expect(gateway.client().stream(ASK).final()).rejects.toMatchObject({
      name: "ConnectionError",
      code: "stream_cut",
    });
    expect(gateway.received).toHaveLength(1);
  });
});

describe("the end of a call", () => {
  it("by the caller while waiting to retry", async () => {
    const controller = new AbortController();
    const gateway = await startTinyGateway(refuse(503, "draining", {}, { "retry-after": "30" }));
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await globalThis.fetch(input, init);
      setImmediate(() => setImmediate(() => controller.abort(new Error("changed my mind"))));
      return response;
    };
    const call = gateway.client({ fetch }).chat(ASK, { signal: controller.signal });
    await expect(call).rejects.toThrow("changed my mind");
    expect(gateway.received).toHaveLength(1);
  });

  it("by the caller before or while it is answered", async () => {
    const controller = new AbortController();
    const left = signal();
    const gateway = await startTinyGateway((response) => {
      response.on("close", () => left.resolve());
      controller.abort();
    });
    await expect(gateway.client().chat(ASK, { signal: controller.signal })).rejects.toHaveProperty(
      "name",
      "AbortError",
    );
    await left.promise;
    await expect(gateway.client().chat(ASK, { signal: controller.signal })).rejects.toHaveProperty(
      "name",
      "AbortError",
    );
    expect(gateway.received).toHaveLength(1);
  });

  it("by the time-out, of an answer or within one", async () => {
    const gateway = await startTinyGateway(
      () => undefined,
      (response) => {
        beginStream(response);
        response.write(sse(chunk({ content: "a" })));
      },
    );
    const client = gateway.client({ timeoutMs: 50 });
    const late = { name: "TimeoutError", code: "client_timeout", status: undefined };
    const error = await client.chat(ASK).catch((reason) => reason);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject(late);
    await expect(client.stream(ASK).final()).rejects.toMatchObject(late);
    expect(gateway.received).toHaveLength(2);
  });
});
