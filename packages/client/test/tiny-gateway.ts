import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { Sluicegate, type SluicegateOptions } from "../src/index.ts";

/** Answers one request. Requests are answered by the handlers in turn, the last one for ever. */
export type Handler = (response: ServerResponse, request: IncomingMessage) => unknown;

/** What the tiny gateway got. */
export interface Received {
  method: string | undefined;
  path: string | undefined;
  headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  body: any;
}

/** A server on a loopback socket, closed when the test ends. */
export async function startTinyGateway(...handlers: Handler[]) {
  const received: Received[] = [];
  const stats = { connections: 0 };
  const server = createServer(async (request, response) => {
    const bytes: Buffer[] = [];
    for await (const chunk of request) bytes.push(chunk as Buffer);
    const { method, url: path, headers } = request;
    received.push({ method, path, headers, body: JSON.parse(Buffer.concat(bytes).toString()) });
    const handler = handlers[Math.min(received.length, handlers.length) - 1]!;
    await handler(response, request);
  });
  server.on("connection", () => {
    stats.connections++;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const client = (options: Partial<SluicegateOptions> = {}) =>
    new Sluicegate({ baseUrl, apiKey: "sg_test_secret", ...options });
  return { baseUrl, received, stats, client };
}

/** Answers with JSON. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Handler {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Answers with an error in the gateway's form. */
export function refuse(status: number, code: string | null, more: object = {}, headers: Record<string, string> = {}) {
  const error = { message: `said ${code}`, type: "t", param: null, code, request_id: "req_e", ...more };
  return json({ error }, status, { "x-request-id": "req_e", ...headers });
}

/** The text of an event stream: objects as JSON, strings as they are. */
export function sse(...events: unknown[]): string {
  return events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
}

/** A chunk of a chat completion whose only choice has this delta. */
export function chunk(delta: object, finish_reason: string | null = null, more: object = {}) {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-4o-2024-11-20",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    usage: null,
    ...more,
  };
}

/** OpenAI usage as a gateway reports it. */
export const WIRE_USAGE = {
  prompt_tokens: 50,
  completion_tokens: 12,
  total_tokens: 62,
  prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 6 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

/** The chunk that only carries usage. */
export const USAGE_CHUNK = { ...chunk({}), choices: [], usage: WIRE_USAGE };

/** Headers of an answer. */
export const ORIGIN_HEADERS = {
  "x-request-id": "req_1",
  "x-sluicegate-alias": "default",
  "x-sluicegate-deployment": "gpt-uae",
  "x-sluicegate-provider": "azure-uae",
  "x-sluicegate-model": "gpt-4o-2024-11-20",
};

/** Begins an event stream. */
export function beginStream(response: ServerResponse, headers: Record<string, string> = ORIGIN_HEADERS): void {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
}

/** Answers with an event stream, whole. */
export function stream(...events: unknown[]): Handler {
  return (response) => {
    beginStream(response);
    response.end(sse(...events));
  };
}

/** A promise and what settles it. */
export function signal(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
