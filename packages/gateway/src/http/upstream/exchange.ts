import type { UpstreamCall, UpstreamErrorKind, UpstreamSink } from "../../core/transport.ts";
import type { Connection } from "./connection.ts";
import type { RequestBytes } from "./request-head.ts";

/** Where calls wait for a connection. */
export interface Line {
  /** Takes a call that has not begun out of the line. */
  forget(exchange: Exchange): void;
}

/** A call of a pool: in line, then on a connection, then over. */
export class Exchange implements UpstreamCall {
  readonly bytes: RequestBytes;
  readonly sink: UpstreamSink;
  readonly #line: Line;
  #connection: Connection | null = null;
  #paused = false;

  constructor(bytes: RequestBytes, sink: UpstreamSink, line: Line) {
    this.bytes = bytes;
    this.sink = sink;
    this.#line = line;
  }

  /** It has come to its turn. */
  begin(connection: Connection): void {
    this.#connection = connection;
    if (this.#paused) connection.pause();
    connection.send(this);
  }

  /** Lets go of its connection, before its end is told: it may serve somebody else by then. */
  release(): void {
    this.#connection = null;
  }

  fail(kind: UpstreamErrorKind, message: string): void {
    this.release();
    this.sink.onError(kind, message);
  }

  abort(): void {
    const connection = this.#connection;
    this.release();
    if (connection) connection.abort();
    else this.#line.forget(this);
  }

  pause(): void {
    this.#paused = true;
    this.#connection?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#connection?.resume();
  }
}
