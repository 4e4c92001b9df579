import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { LIMITS, type Waits } from "../core/limits.ts";
import { exchangeParts, HttpExchange } from "./exchange.ts";
import { serverRequests } from "./server-request.ts";
import { WholeResponse } from "./whole-response.ts";

/** What the server does with a request it cannot even parse: the status and the bytes to say. */
export type UnparsedAnswer = (kind: "bad_request" | "headers_too_large" | "timeout") => {
  status: string;
  body: string;
};

/** A listening HTTP server. */
export interface HttpServer {
  readonly node: Server;
  listen(host: string, port: number): Promise<number>;
  /** Serves on, and closes every connection with the answer that is next on it: clients go elsewhere before they have to. */
  windDown(): void;
  /** Refuses new connections, closes idle ones, and resolves when the last answer is out or `timeoutMs` has passed. */
  drain(timeoutMs: number): Promise<void>;
}

/** A node:http server with every bound set, that hands each request to `onRequest`. */
export function createHttpServer(
  onRequest: (exchange: HttpExchange) => void,
  unparsed: UnparsedAnswer,
  waits: Waits = LIMITS,
): HttpServer {
  const server = createServer({
    IncomingMessage: serverRequests(),
    ServerResponse: WholeResponse,
    maxHeaderSize: LIMITS.headerBytesMax,
    headersTimeout: waits.clientHeadersMs,
    // The body has its own deadline, with an answer in the client's dialect.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1_000, waits.clientHeadersMs),
    keepAlive: true,
    // Longer than a load balancer's usual 60 s, so that the balancer closes first and never meets a closing socket.
    keepAliveTimeout: 75_000,
    noDelay: true,
    // Of a stream whose client is behind: newer versions of node let four times as much wait in many small pieces.
    highWaterMark: LIMITS.socketBufferBytes,
    insecureHTTPParser: false,
    // Looked at below: node's own refusal has no body.
    requireHostHeader: false,
  });
  server.maxHeadersCount = LIMITS.headerCountMax;
  const open = new Set<ServerSocket>();
  /** Connections that have not sent a request yet: node takes them for busy ones. */
  const fresh = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    fresh.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      fresh.delete(socket);
    });
  });
  let leaving = false;
  const take = (exchange: HttpExchange): void => {
    // It came behind the connection's last answer. Were it answered, node would take that for the answer of an earlier request
    // that still waits for its turn, and give up the process.
    if (!exchange.request.socket.writable) return;
    fresh.delete(exchange.request.socket);
    if (leaving) exchange.response.shouldKeepAlive = false;
    const fault = faultOf(exchange.request);
    if (fault === null) return onRequest(exchange);
    const { status, body } = unparsed(fault);
    exchange.respond(Number.parseInt(status, 10), ["content-type", "application/json", "connection", "close"], body);
  };
  const parts = exchangeParts(server.keepAliveTimeout);
  server.on("request", (request, response) => take(new HttpExchange(request, response, parts)));
  server.on("checkContinue", (request, response) => take(new HttpExchange(request, response, parts, true)));
  const lingering = new WeakSet<Socket>();
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // What a client goes on sending after it was told off.
    if (lingering.has(socket)) return;
    lingering.add(socket);
    answerUnparsed(error, socket, unparsed);
  });
  const windDown = (): void => {
    leaving = true;
    for (const { _httpMessage: answer } of open) if (answer && !answer.headersSent) answer.shouldKeepAlive = false;
  };
  return {
    node: server,
    windDown,
    listen: (host, port) => listen(server, host, port),
    drain(timeoutMs) {
      windDown();
      return drain(server, fresh, timeoutMs);
    },
  };
}

/** What is wrong with a request that node's parser lets pass: headers beyond the count, which it drops in silence, or no host. */
function faultOf(request: IncomingMessage): "bad_request" | "headers_too_large" | null {
  if (request.rawHeaders.length > 2 * LIMITS.headerCountMax) return "headers_too_large";
  if (request.httpVersion === "1.1") return request.headers.host === undefined ? "bad_request" : null;
  return request.httpVersion === "1.0" ? null : "bad_request";
}

/** node's own mark of the answer that is being written on a socket. */
type ServerSocket = Socket & { _httpMessage?: ServerResponse | null };

function answerUnparsed(error: NodeJS.ErrnoException, socket: ServerSocket, unparsed: UnparsedAnswer): void {
  // An answer that is on its way must not be spoken into.
  if (socket.destroyed || !socket.writable || error.code === "ECONNRESET" || socket._httpMessage?.headersSent) {
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
  const bytesMax = socket.bytesRead + LIMITS.lingerBytesMax;
  const leave = (): void => void socket.destroy();
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  // Closed at once, a socket with unread bytes is reset, and the client may never read its answer.
  const timer = setTimeout(leave, LIMITS.lingerMs).unref();
  const gauge = setInterval(() => socket.bytesRead > bytesMax && leave(), 50).unref();
  socket.once("end", leave);
  socket.once("close", () => {
    clearTimeout(timer);
    clearInterval(gauge);
  });
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

function drain(server: Server, fresh: ReadonlySet<Socket>, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), timeoutMs);
    const closeUnused = (): void => {
      server.closeIdleConnections();
      for (const socket of fresh) if (socket.bytesRead === 0) socket.destroy();
    };
    // A connection kept alive after its last answer would hold the server open: those are looked for again and again.
    // Only after the loop has looked for input: a request may have come while it was busy, and lie there unread.
    const sweep = setInterval(() => setImmediate(closeUnused), 50);
    server.close(() => {
      clearTimeout(force);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections();
  });
}
