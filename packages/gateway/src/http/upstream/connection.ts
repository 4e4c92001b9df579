import type { Socket } from "node:net";
import type { Clock } from "../../core/clock.ts";
import type { UpstreamErrorKind } from "../../core/transport.ts";
import type { Dialer } from "./dial.ts";
import type { Exchange } from "./exchange.ts";
import { ResponseParser } from "./response-parser.ts";

/** What a connection tells its pool. */
export interface ConnectionOwner {
  /** Connected, and ready for its first request. */
  onConnected(connection: Connection): void;
  /** Done with a response, and ready for another request. */
  onIdle(connection: Connection): void;
  /** Gone: closed, failed, or used up. */
  onGone(connection: Connection): void;
}

/**
 * One HTTP/1.1 connection to an upstream. Carries one exchange at a time; no pipelining.
 *
 * A request that is lost is reported, never sent again from here, not even when it went out on a used connection and not a
 * byte came back. That mostly means that the upstream closed the idle connection just then, but it looks the same when it
 * took the POST and died over it; RFC 9110 (9.2.2) lets no client repeat what is not idempotent by itself, and this one may
 * be billed. The attempt's owner decides: it knows the deadline, the retry budget, and how to account for the first try.
 *
 * What comes in one piece with the end of an answer, or on an idle connection, ends the connection. HTTP/1.1 gives nobody a
 * way to tell what comes later, and meets the next request, from the answer to it.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #parser: ResponseParser;
  #exchange: Exchange | null = null;
  #connected = false;
  #gone = false;
  #failureKind: "connect" | "connect_timeout" = "connect";
  #failure = "closed by the upstream";
  /** When it may no longer be used for a new request, monotonic ms. */
  idleUntil = Number.POSITIVE_INFINITY;
  /** How long the upstream says it keeps an idle connection, ms; null: it does not say. */
  keepAliveHintMs: number | null = null;

  /** A connection that is not there by its deadline is given up: a lost packet must not be waited for by the next call too. */
  constructor(dialer: Dialer, owner: ConnectionOwner, deadline: { clock: Clock; ms: number }) {
    this.#owner = owner;
    this.#parser = new ResponseParser({
      onHead: (status, headers) => {
        const keepAlive = headers["keep-alive"];
        if (keepAlive !== undefined) this.#readHint(keepAlive);
        this.#exchange?.sink.onHeaders(status, headers);
      },
      onBody: (bytes, from, to) => {
        const sink = this.#exchange?.sink;
        if (sink && !sink.passes?.(bytes, from, to)) sink.onData(Buffer.from(bytes.subarray(from, to)));
      },
      onDone: (reusable) => this.#done(reusable),
    });
    this.#socket = dialer.open((bytes, length) => this.#read(bytes, length));
    const late = deadline.clock.after(deadline.ms, () => {
      this.#failureKind = "connect_timeout";
      this.destroy(`no connection within ${deadline.ms} ms`);
    });
    this.#socket.on(dialer.ready, () => {
      late.cancel();
      if (this.#gone) return;
      this.#connected = true;
      this.#owner.onConnected(this);
    });
    this.#socket.on("error", (error) => {
      this.#failure = reasonOf(error);
    });
    this.#socket.on("end", () => {
      // A body that lasts until the close ends here, and well.
      if (this.#exchange && this.#parser.close()) return;
      this.#socket.destroy();
    });
    this.#socket.on("close", () => {
      late.cancel();
      this.#closed();
    });
  }

  /** Whether a request may be put on it. A socket that is closing may not have said so yet. */
  get usable(): boolean {
    return this.#connected && !this.#gone && this.#socket.readyState === "open";
  }

  /** Puts a request on the wire. Only for a usable connection without an exchange. */
  send(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#parser.reset();
    const { first, rest } = exchange.bytes;
    if (rest) this.#socket.cork();
    this.#socket.write(first, "latin1");
    if (rest) {
      for (const piece of rest) this.#socket.write(piece);
      this.#socket.uncork();
    }
    exchange.sink.onSent();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Drops the exchange and the connection with it: what is still to come on it answers a question nobody asks any more. */
  abort(): void {
    this.#exchange = null;
    this.destroy();
  }

  /** Ends the connection; an exchange on it is told, with the reason. */
  destroy(reason?: string): void {
    if (reason !== undefined) this.#failure = reason;
    this.#socket.destroy();
    this.#leave();
  }

  /** Fails a call that waited for this connection, which never came to be. */
  failWaiting(exchange: Exchange): void {
    exchange.fail(this.#failureKind, this.#failure);
  }

  #readHint(keepAlive: string): void {
    const timeout = /\btimeout=(\d+)/.exec(keepAlive);
    if (timeout) this.keepAliveHintMs = Number(timeout[1]) * 1_000;
  }

  #read(bytes: Buffer, length: number): void {
    const exchange = this.#exchange;
    if (!exchange) {
      // Bytes nobody asked for: an upstream that answers by itself (a 408 before it closes) is not to be trusted further.
      this.destroy();
      return;
    }
    try {
      this.#parser.push(bytes, length);
    } catch (error) {
      // Whatever a sink throws once its call is over, the call that follows it on this connection is not to blame.
      if (this.#exchange !== exchange) throw error;
      this.#fail("protocol", error instanceof Error ? error.message : String(error));
    }
  }

  #done(reusable: boolean): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    exchange?.release();
    // An answer that came before all of the request was out: what is left of it must not stand before another.
    if (reusable && this.usable && this.#socket.writableLength === 0) {
      // A client that was slow may have left it paused.
      if (this.#socket.isPaused()) this.#socket.resume();
      this.#owner.onIdle(this);
    } else {
      this.destroy();
    }
    exchange?.sink.onEnd();
  }

  #closed(): void {
    if (this.#exchange) this.#fail("reset", this.#failure);
    else this.#leave();
  }

  #fail(kind: UpstreamErrorKind, message: string): void {
    const exchange = this.#exchange;
    this.#exchange = null;
    this.destroy();
    exchange?.fail(kind, message);
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#owner.onGone(this);
  }
}

/** Where every address of a name fails, the error is an AggregateError without a message of its own. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((each: Error) => each.message).join("; ");
  return error.message;
}
