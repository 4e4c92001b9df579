import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Cancel } from "../core/cancel.ts";
import { LIMITS } from "../core/limits.ts";
import { AnswerHeads } from "./answer-heads.ts";
import { ChunkFrames, FRAMING_BYTES_MAX } from "./chunk-frames.ts";
import { type BodySink, ServerRequest } from "./server-request.ts";
import { TickBatch } from "./tick-batch.ts";
import { WholeResponse } from "./whole-response.ts";

/** One client request and the way back to the client, as the data plane sees it. A simulation puts its own in its place. */
export interface Exchange {
  readonly request: RequestBody;
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** Query without the `?`, empty when there is none. */
  readonly query: string;
  /** Fires `client_left` when the client closes before the answer is complete. */
  readonly cancel: Cancel;
  /** True once a status has gone out. */
  readonly headSent: boolean;
  /** A request header by lower-case name; a repeated one is joined by node. */
  header(name: string): string | undefined;
  /** Whether the name of any request header begins with `prefix`, which is lower case. */
  sends(prefix: string): boolean;
  /** Tells a client that waits for it to send its body. */
  askForBody(): void;
  /** Does it later in this tick, with what others leave for then: like with like, while the code is warm. */
  later(act: () => void): void;
  /**
   * A whole answer in one write. Headers are flat: name, value, name, value. Does nothing once a head is out. Text of Latin-1
   * is bytes, one a character.
   */
  respond(status: number, headers: readonly string[], body: Buffer | string, encoding?: TextEncoding): void;
  /** Sends the head of a stream. */
  begin(status: number, headers: readonly string[]): void;
  /** Sends a piece of a stream. False means: the client is behind, wait for `onDrain`. */
  write(bytes: Buffer): boolean;
  /** Sends what stands in `bytes` from `from` to `to`, and keeps none of them; false, or absent, when it cannot at once. */
  pass?(bytes: Buffer, from: number, to: number): boolean;
  /** One listener for "the client has caught up"; setting it replaces the one before. */
  onDrain(listener: () => void): void;
  /** Ends a stream. */
  end(bytes?: Buffer): void;
  /** Closes the connection under the client: only for a stream that cannot say its own error. */
  destroy(): void;
}

/** How an answer's text becomes bytes: as UTF-8 where nothing is said. */
export type TextEncoding = "utf8" | "latin1";

/** Where a request's body comes from. */
export interface RequestBody {
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end" | "error", listener: () => void): unknown;
  pause(): unknown;
  /** Where it can be had without a stream: see `ServerRequest`. */
  takeBody?(sink: BodySink): boolean;
  leaveBody?(): void;
}

/** Bodies up to this size are joined with their head, and pieces of a stream with their framing. */
const JOIN_BYTES_MAX = 64 * 1024;
/** What ends a body in chunks (RFC 9112, 7.1). */
const LAST_CHUNK = "0\r\n\r\n";

/** What the exchanges of a server have in common. */
export interface ExchangeParts {
  batch: TickBatch;
  heads: AnswerHeads;
  frames: ChunkFrames;
}

/** The parts for one server, which keeps an idle connection for `keepAliveMs`. */
export function exchangeParts(keepAliveMs: number): ExchangeParts {
  return { batch: new TickBatch(), heads: new AnswerHeads(keepAliveMs), frames: new ChunkFrames() };
}

/** The exchange of a node:http server. Knows HTTP and nothing of gateways. */
export class HttpExchange implements Exchange {
  readonly request: IncomingMessage & RequestBody;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly cancel = new Cancel();
  #drainListener: (() => void) | undefined;
  #awaitsContinue: boolean;
  /** The answer is a stream in chunks, framed here: node would make four pieces of each, and gather them again. */
  #chunked = false;
  /** Where a stream in chunks goes, once its head is out with its first piece: what follows needs nothing more of the response. */
  #flow: Socket | null = null;
  /** What may go there in one piece, in bytes. */
  #flowBytesMax = 0;

  readonly #parts: ExchangeParts;

  /** `awaitsContinue`: the client has sent `expect: 100-continue` and keeps its body until it is told to go on. */
  constructor(request: IncomingMessage, response: ServerResponse, parts: ExchangeParts, awaitsContinue = false) {
    this.#parts = parts;
    this.#awaitsContinue = awaitsContinue;
    this.request = request;
    this.response = response;
    this.method = request.method ?? "GET";
    const url = request.url ?? "/";
    const mark = url.indexOf("?");
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = mark === -1 ? "" : url.slice(mark + 1);
    response.on("close", () => {
      if (!response.writableFinished) this.cancel.cancel("client_left");
    });
    response.on("error", () => this.cancel.cancel("client_left"));
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  sends(prefix: string): boolean {
    const { rawHeaders } = this.request;
    const first = prefix.charCodeAt(0);
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? "";
      // Two cases of a letter differ in one bit.
      if ((name.charCodeAt(0) | 32) === first && name.slice(0, prefix.length).toLowerCase() === prefix) return true;
    }
    return false;
  }

  askForBody(): void {
    if (this.#awaitsContinue) this.response.writeContinue();
    this.#awaitsContinue = false;
  }

  later(act: () => void): void {
    this.#parts.batch.add(act);
  }

  get headSent(): boolean {
    return this.response.headersSent;
  }

  respond(status: number, headers: readonly string[], body: Buffer | string, encoding: TextEncoding = "utf8"): void {
    const response = this.response;
    if (this.headSent || response.destroyed) return;
    // What is short goes out as text with its head: there is no need to make bytes of it before.
    const asIs = typeof body !== "string" || (encoding === "latin1" && body.length <= JOIN_BYTES_MAX);
    const bytes = asIs ? body : Buffer.from(body, encoding);
    const leavesNothing = this.#leavesNothing();
    if (leavesNothing && this.#respondWhole(status, headers, bytes)) return;
    const all = [...headers, "content-length", String(bytes.length)];
    const shown = this.method === "HEAD" ? undefined : bytes;
    if (leavesNothing) {
      // Headers that node refuses throw here, where the request can still be answered otherwise; nothing is sent yet.
      response.writeHead(status, all);
      this.#parts.batch.add(() => this.#endWith(shown));
      return;
    }
    response.writeHead(status, [...all, "connection", "close"]);
    if (shown) response.write(shown, "latin1");
    this.#endLater();
  }

  /** What most answers are: short, and not their connection's last. False: it is not, or its head is not like most. */
  #respondWhole(status: number, headers: readonly string[], body: Buffer | string): boolean {
    const { response } = this;
    if (!(response instanceof WholeResponse) || !response.shouldKeepAlive || this.#awaitsContinue) return false;
    if (this.method === "HEAD" || body.length > JOIN_BYTES_MAX) return false;
    const head = this.#parts.heads.head(status, headers, body.length);
    if (head === null) return false;
    response.commit();
    this.#parts.batch.add(() => {
      if (response.destroyed) return;
      if (response.writeWhole(head + (typeof body === "string" ? body : body.toString("latin1")))) return;
      response.writeHead(status, [...headers, "content-length", String(body.length)]);
      this.#endWith(body);
    });
    return true;
  }

  /** Sends the head that node holds back, with the whole body. */
  #endWith(body: Buffer | string | undefined): void {
    const { response } = this;
    if (response.destroyed) return;
    if (typeof body === "string") this.#writeText(body);
    else if (body && body.length <= JOIN_BYTES_MAX) this.#writeText(body.toString("latin1"));
    else if (body) response.write(body);
    response.end();
  }

  /**
   * Whether the connection can go on after an answer: the request is here whole, or has no body, or so small a one, which
   * nobody has begun to read, that node reads it over. (At its very beginning no request is complete.)
   */
  #leavesNothing(): boolean {
    const { request } = this;
    if (request.complete) return true;
    if (request.headers["transfer-encoding"] !== undefined) return false;
    const length = Number(request.headers["content-length"] ?? 0);
    const taken = request instanceof ServerRequest && request.bodyTaken;
    const untouched = !this.#awaitsContinue && !taken && request.listenerCount("data") === 0;
    return length === 0 || (untouched && length <= LIMITS.discardBytesMax);
  }

  /**
   * The answer is out whole, and the client still sends. Closed now, the socket would be reset, and a client that reads only
   * after it has sent would never see the answer: what it sends is dropped for a while before the end.
   */
  #endLater(): void {
    const { request, response } = this;
    const end = (): void => {
      clearTimeout(timer);
      response.end();
    };
    const timer = setTimeout(end, LIMITS.lingerMs).unref();
    let left: number = LIMITS.lingerBytesMax;
    request.removeAllListeners("data");
    request.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) end();
    });
    request.once("end", end);
    request.once("close", end);
    request.resume();
  }

  begin(status: number, headers: readonly string[]): void {
    const response = this.response;
    if (this.headSent || response.destroyed) return;
    response.writeHead(status, headers as string[]);
    this.#chunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  write(bytes: Buffer): boolean {
    const response = this.response;
    if (response.destroyed) return true;
    if (this.pass(bytes, 0, bytes.length)) return true;
    if (!this.#chunked) response.write(bytes);
    else if (bytes.length > JOIN_BYTES_MAX) this.#writeLarge(bytes);
    else this.#writeText(chunkText(bytes));
    if (this.#chunked && !this.#flow) this.#beginFlow(response.socket);
    return response.writableLength < response.writableHighWaterMark;
  }

  /**
   * A piece of a stream that has nothing before it goes to the socket at once, past the response, which would only make it
   * wait its turn. A piece that could fill the socket's buffer does not: the response has to know when to say "drain".
   */
  pass(bytes: Buffer, from: number, to: number): boolean {
    const socket = this.#flow;
    if (socket === null || !socket.writable || socket.writableLength > 0) return false;
    if (to === from || to - from > this.#flowBytesMax) return false;
    socket.write(this.#parts.frames.frame(bytes, from, to));
    // Not all of it is with the kernel.
    if (socket.writableLength > 0) this.#parts.frames.leave();
    return true;
  }

  /** Only a plain socket is known to be done with what it was given, once it says that nothing is left of it. */
  #beginFlow(socket: Socket | null): void {
    if (!socket || Object.getPrototypeOf(socket) !== Socket.prototype) return;
    this.#flow = socket;
    this.#flowBytesMax = socket.writableHighWaterMark - FRAMING_BYTES_MAX;
  }

  onDrain(listener: () => void): void {
    if (!this.#drainListener) this.response.on("drain", () => this.#drainListener?.());
    this.#drainListener = listener;
  }

  end(bytes?: Buffer): void {
    const response = this.response;
    this.#flow = null;
    if (response.destroyed) return;
    if (this.#chunked) this.#writeText(bytes ? chunkText(bytes) + LAST_CHUNK : LAST_CHUNK);
    else if (bytes) response.write(bytes);
    response.end();
  }

  /**
   * Writes text of Latin-1, byte for character, as one piece with what is to go before it. Corked by us, node does not cork
   * for the tick: a piece that it gets alone is one plain write, and is gone when `end` looks for something to wait for.
   */
  #writeText(text: string): void {
    const { response } = this;
    const { socket } = response;
    socket?.cork();
    response.write(text, "latin1");
    socket?.uncork();
  }

  /** A chunk that is not worth a copy, with its framing around it. */
  #writeLarge(bytes: Buffer): void {
    const { response } = this;
    response.write(sizeLine(bytes), "latin1");
    response.write(bytes);
    response.write("\r\n", "latin1");
  }

  destroy(): void {
    this.#flow = null;
    this.response.destroy();
  }
}

/** A chunk as text of Latin-1; nothing for nothing, which would end the body. */
function chunkText(bytes: Buffer): string {
  return bytes.length > 0 ? `${sizeLine(bytes)}${bytes.toString("latin1")}\r\n` : "";
}

function sizeLine(bytes: Buffer): string {
  return `${bytes.length.toString(16)}\r\n`;
}
