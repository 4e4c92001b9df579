import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { type ClientWaits, LIMITS } from "../core/limits.ts";
import { Exchange } from "./exchange.ts";

/** What the server does with a request it cannot even parse: the status and the bytes to say. */
export type UnparsedAnswer = (kind: "bad_request" | "headers_too_large" | "timeout") => {
  status: string;
  body: string;
};

/** A listening HTTP server. */
export interface HttpServer {
  readonly node: Server;
  listen(host: string, port: number): Promise<number>;
  /** Refuses new connections, closes idle ones, and resolves when the last answer is out or `timeoutMs` has passed. */
  drain(timeoutMs: number): Promise<void>;
}

/** A node:http server with every bound set, that hands each request to `onRequest`. */
export function createHttpServer(
  onRequest: (exchange: Exchange) => void,
  unparsed: UnparsedAnswer,
  waits: ClientWaits = LIMITS,
): HttpServer {
  const server = createServer({
    maxHeaderSize: LIMITS.headerBytesMax,
    headersTimeout: waits.clientHeadersMs,
    // The body has its own deadline, with an answer in the client's dialect.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1_000, waits.clientHeadersMs),
    keepAlive: true,
    // Longer than a load balancer's usual 60 s, so that the balancer closes first and never meets a closing socket.
    keepAliveTimeout: 75_000,
    noDelay: true,
    insecureHTTPParser: false,
  });
  server.maxHeadersCount = LIMITS.headerCountMax;
  server.on("request", (request, response) => onRequest(new Exchange(request, response)));
  server.on("checkContinue", (request, response) => {
    response.writeContinue();
    onRequest(new Exchange(request, response));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => answerUnparsed(error, socket, unparsed));
  return { node: server, listen: (host, port) => listen(server, host, port), drain: (ms) => drain(server, ms) };
}

function answerUnparsed(error: NodeJS.ErrnoException, socket: Socket, unparsed: UnparsedAnswer): void {
  if (socket.destroyed || !socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const kind =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "headers_too_large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "timeout"
        : "bad_request";
  const { status, body } = unparsed(kind);
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    // A peer that goes on sending must not hold the socket.
    () => socket.destroy(),
  );
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.removeListener("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}

function drain(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // A connection kept alive after its last answer would hold the server open: those are looked for again and again.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(force);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });
}
