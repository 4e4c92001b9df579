import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../core/clock.ts";
import type { UpstreamErrorKind, UpstreamRequest, UpstreamSink, UpstreamTls } from "../../core/transport.ts";
import { ResponseParser } from "./response-parser.ts";

/** What a connection tells its pool. */
export interface ConnectionOwner {
  /** Connected, or done with a response, and ready for a request. */
  onIdle(connection: Connection): void;
  /** Gone: closed, failed, or used up. */
  onGone(connection: Connection): void;
}

/** Bodies up to this size go out in one buffer with their head; larger ones in a second piece of the same write. */
const JOIN_BYTES_MAX = 64 * 1024;

/** One HTTP/1.1 connection to an upstream. Carries one exchange at a time; no pipelining. */
export class Connection {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #parser: ResponseParser;
  #sink: UpstreamSink | null = null;
  #connected = false;
  #gone = false;
  #failure = "closed by the upstream";
  /** When it may no longer be used for a new request, monotonic ms; moved by a `keep-alive: timeout=` hint. */
  idleUntil = Number.POSITIVE_INFINITY;
  /** How long the upstream says it keeps an idle connection, ms; null: it does not say. */
  keepAliveHintMs: number | null = null;

  /** A connection that is not there by its deadline is given up: a lost packet must not be waited for by the next call too. */
  constructor(
    origin: URL,
    tls: UpstreamTls | undefined,
    owner: ConnectionOwner,
    deadline: { clock: Clock; ms: number },
  ) {
    this.#owner = owner;
    this.#parser = new ResponseParser({
      onHead: (status, headers) => {
        const hint = /timeout=(\d+)/.exec(headers["keep-alive"] ?? "");
        if (hint) this.keepAliveHintMs = Number(hint[1]) * 1_000;
        this.#sink?.onHeaders(status, headers);
      },
      onBody: (piece) => this.#sink?.onData(piece),
      onDone: (reusable) => this.#done(reusable),
    });
    const host = origin.hostname.replace(/^\[|\]$/g, "");
    const secure = origin.protocol === "https:";
    const port = Number(origin.port) || (secure ? 443 : 80);
    this.#socket = secure
      ? connectTls({ host, port, ...(isIp(host) ? {} : { servername: host }), ALPNProtocols: ["http/1.1"], ...tls })
      : connectTcp({ host, port });
    this.#socket.setNoDelay(true);
    const late = deadline.clock.after(deadline.ms, () => {
      this.#failure = `no connection within ${deadline.ms} ms`;
      this.#socket.destroy();
    });
    this.#socket.on(secure ? "secureConnect" : "connect", () => {
      late.cancel();
      this.#connected = true;
      this.#owner.onIdle(this);
    });
    this.#socket.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#socket.on("error", (error) => {
      this.#failure = error.message;
    });
    this.#socket.on("end", () => {
      // A body that lasts until the close ends here, and well.
      if (this.#sink && this.#parser.close()) return;
      this.#socket.destroy();
    });
    this.#socket.on("close", () => {
      late.cancel();
      this.#closed();
    });
  }

  get usable(): boolean {
    return this.#connected && !this.#gone && !this.#socket.destroyed && this.#socket.readyState === "open";
  }

  /** Puts a request on the wire. Only for a usable connection without an exchange. */
  send(request: UpstreamRequest, head: string, sink: UpstreamSink): void {
    this.#sink = sink;
    this.#parser.reset();
    const { body } = request;
    if (!body || body.length === 0) {
      this.#socket.write(head, "latin1");
    } else if (body.length <= JOIN_BYTES_MAX) {
      const joined = Buffer.allocUnsafe(head.length + body.length);
      joined.write(head, 0, "latin1");
      body.copy(joined, head.length);
      this.#socket.write(joined);
    } else {
      this.#socket.cork();
      this.#socket.write(head, "latin1");
      this.#socket.write(body);
      this.#socket.uncork();
    }
    sink.onSent();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Drops the exchange and the connection with it: what is still to come on it answers a question nobody asks any more. */
  abort(): void {
    this.#sink = null;
    this.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#leave();
  }

  #read(bytes: Buffer): void {
    if (!this.#sink) {
      // Bytes nobody asked for: an upstream that answers by itself (a 408 before it closes) is not to be trusted further.
      this.destroy();
      return;
    }
    try {
      this.#parser.push(bytes);
    } catch (error) {
      this.#fail("protocol", error instanceof Error ? error.message : String(error));
    }
  }

  #done(reusable: boolean): void {
    const sink = this.#sink;
    this.#sink = null;
    // An answer that came before all of the request was out: what is left of it must not stand before another.
    if (reusable && this.usable && this.#socket.writableLength === 0) {
      // A client that was slow may have left it paused.
      this.#socket.resume();
      this.#owner.onIdle(this);
    } else {
      this.destroy();
    }
    sink?.onEnd();
  }

  #closed(): void {
    if (this.#sink) this.#fail("reset", this.#failure);
    else this.#leave();
  }

  #fail(kind: UpstreamErrorKind, message: string): void {
    const sink = this.#sink;
    this.#sink = null;
    this.destroy();
    sink?.onError(kind, message);
  }

  /** Why it never connected, for those that waited for it. */
  get failure(): string {
    return this.#failure;
  }

  get everConnected(): boolean {
    return this.#connected;
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#owner.onGone(this);
  }
}

function isIp(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(":");
}
