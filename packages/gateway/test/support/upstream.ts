import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One call as an upstream saw it, byte by byte. */
export interface UpstreamHit {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** An upstream whose answers the test writes itself. */
export interface Upstream {
  url: string;
  hits: UpstreamHit[];
  /** What it does with the calls from now on. */
  answer(handler: (response: ServerResponse, hit: UpstreamHit) => void): void;
  close(): Promise<void>;
}

/** A complete chat answer that says `text`. */
export function chatAnswer(text: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "upstream-model",
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    ...more,
  });
}

/** One chunk of a chat stream, as an event. */
export function chatChunk(delta: unknown, finish: string | null = null, more: Record<string, unknown> = {}): string {
  const chunk = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "upstream-model",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** Starts one on a free loopback port. */
export async function startUpstream(): Promise<Upstream> {
  const hits: UpstreamHit[] = [];
  let handler = (response: ServerResponse, _hit: UpstreamHit): void =>
    void response.writeHead(200, { "content-type": "application/json" }).end(chatAnswer("hello"));
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    response.on("error", () => {});
    request.on("end", () => {
      const hit = { path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) };
      hits.push(hit);
      handler(response, hit);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hits,
    answer(next) {
      handler = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
