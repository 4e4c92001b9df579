import { Cancel } from "../../src/core/cancel.ts";
import type { Exchange, RequestBody, TextEncoding } from "../../src/http/exchange.ts";

/** What a client sends. Header names are lower case. */
export interface SentRequest {
  method: "POST";
  path: string;
  headers: Readonly<Record<string, string>>;
}

/** What a client's end of a connection is told. */
export interface ClientEnd {
  onHead(status: number, headers: ReadonlyMap<string, string>): void;
  onBytes(bytes: Buffer): void;
  onEnd(): void;
  /** The connection is closed under the client. */
  onClosed(): void;
  /** The gateway has done what it must not. */
  onFault(what: string): void;
}

/** Bytes that lie in a connection before a sender is told to wait. */
const ROOM_BYTES = 1_024;

/**
 * One request over a virtual connection: what node:http and a socket are to the gateway otherwise. What is written lies in the
 * connection until the client reads it.
 */
export class VirtualExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query = "";
  readonly cancel = new Cancel();
  readonly request: RequestBody;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #end: ClientEnd;
  readonly #later: (act: () => void) => void;
  readonly #body = new Map<string, ((chunk: Buffer) => void)[]>();
  #onDrain: (() => void) | null = null;
  #headSent = false;
  #ending = false;
  #finished = false;
  #closed = false;
  #reads = true;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** The most that ever waited for the client. */
  waitingBytesMax = 0;

  constructor(sent: SentRequest, end: ClientEnd, later: (act: () => void) => void) {
    this.method = sent.method;
    this.path = sent.path;
    this.#headers = sent.headers;
    this.#end = end;
    this.#later = later;
    this.request = {
      on: (event: string, listener: (chunk: Buffer) => void) =>
        void this.#body.set(event, [...(this.#body.get(event) ?? []), listener]),
      pause: () => {},
    };
  }

  get headSent(): boolean {
    return this.#headSent;
  }

  header(name: string): string | undefined {
    return this.#headers[name];
  }

  sends(prefix: string): boolean {
    return Object.keys(this.#headers).some((name) => name.startsWith(prefix));
  }

  askForBody(): void {}

  later(act: () => void): void {
    this.#later(act);
  }

  respond(status: number, headers: readonly string[], body: Buffer | string, encoding: TextEncoding = "utf8"): void {
    if (this.#headSent) return this.#end.onFault(`a whole answer (${status}) over one that has begun`);
    if (this.#closed) return;
    const bytes = typeof body === "string" ? Buffer.from(body, encoding) : body;
    this.#sendHead(status, headers);
    this.#put(bytes);
    this.#over();
  }

  begin(status: number, headers: readonly string[]): void {
    // Said again, it does nothing: silence may have begun the stream.
    if (this.#headSent || this.#closed) return;
    this.#sendHead(status, headers);
  }

  write(bytes: Buffer): boolean {
    if (this.#closed) return true;
    if (!this.#headSent) this.#end.onFault("bytes before a head");
    if (this.#ending) this.#end.onFault("bytes after the end");
    this.#put(bytes);
    return this.#waitingBytes < ROOM_BYTES;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  end(bytes?: Buffer): void {
    if (this.#closed) return;
    if (!this.#headSent) this.#end.onFault("an end before a head");
    if (this.#ending) return this.#end.onFault("a second end");
    if (bytes) this.#put(bytes);
    this.#over();
  }

  destroy(): void {
    if (this.#closed || this.#finished) return;
    this.#close();
    this.#end.onClosed();
  }

  /** The client sends a piece of its body; null: that was all. */
  sendBody(chunk: Buffer | null): void {
    if (this.#closed) return;
    for (const listener of this.#body.get(chunk ? "data" : "end") ?? []) listener(chunk ?? Buffer.alloc(0));
  }

  /** The client closes its end. */
  leave(): void {
    if (!this.#finished) this.#close();
  }

  /** The client stops reading, or reads again all that waits. */
  reads(yes: boolean): void {
    this.#reads = yes;
    if (!yes || this.#closed) return;
    const wasFull = this.#waitingBytes >= ROOM_BYTES;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const bytes of waiting) this.#end.onBytes(bytes);
    if (this.#ending) this.#finish();
    else if (wasFull) this.#onDrain?.();
  }

  /** The machine at the other end is gone. */
  cut(): void {
    if (this.#closed || this.#finished) return;
    this.#closed = true;
    this.#end.onClosed();
  }

  #sendHead(status: number, headers: readonly string[]): void {
    this.#headSent = true;
    const read = new Map<string, string>();
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const [name = "", value = ""] = [headers[i], headers[i + 1]];
      if (!/^[a-z0-9-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(value))
        this.#end.onFault(`a header that HTTP does not take: ${name}: ${value}`);
      read.set(name, value);
    }
    this.#end.onHead(status, read);
  }

  #put(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.#reads) return this.#end.onBytes(bytes);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.waitingBytesMax = Math.max(this.waitingBytesMax, this.#waitingBytes);
  }

  #over(): void {
    this.#ending = true;
    if (this.#reads) this.#finish();
  }

  #finish(): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#end.onEnd();
  }

  #close(): void {
    this.#closed = true;
    this.cancel.cancel("client_left");
  }
}
