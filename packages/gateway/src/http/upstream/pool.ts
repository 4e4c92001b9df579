import type { Clock, Timer } from "../../core/clock.ts";
import type { UpstreamCall, UpstreamRequest, UpstreamSink, UpstreamTls } from "../../core/transport.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";

/** How long an idle connection is used again when the upstream does not say how long it keeps one. Node's own default is 5 s. */
const IDLE_MS = 4_000;
const IDLE_MS_MAX = 300_000;
/** Left of the upstream's own time, so that both ends do not meet at the limit. */
const IDLE_MARGIN_MS = 1_000;

interface Waiting {
  request: UpstreamRequest;
  sink: UpstreamSink;
  call: PoolCall;
}

/**
 * Connections to one origin for one deployment. A request takes the idle connection used last, else opens one while
 * fewer than `connections` are open, else waits in line; its own timers bound the wait.
 */
export class Pool implements ConnectionOwner {
  readonly #origin: URL;
  readonly #originText: string;
  readonly #host: string;
  readonly #options: UpstreamRequest["pool"];
  readonly #connectTimeoutMs: number;
  readonly #clock: Clock;
  readonly #open = new Set<Connection>();
  readonly #connecting = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting: Waiting[] = [];
  #draining = false;
  #sweep: Timer | null = null;
  #lastHeaders: readonly string[] | null = null;
  #lastLines = "";

  constructor(request: UpstreamRequest, clock: Clock) {
    this.#origin = new URL(request.origin);
    this.#originText = request.origin;
    this.#host = this.#origin.host;
    this.#options = request.pool;
    this.#connectTimeoutMs = request.connectTimeoutMs;
    this.#clock = clock;
  }

  /** True while the connections `request` asks for are those of this pool. */
  serves({ origin, pool, connectTimeoutMs }: UpstreamRequest): boolean {
    const { connections, tls } = this.#options;
    return (
      origin === this.#originText &&
      connections === pool.connections &&
      connectTimeoutMs === this.#connectTimeoutMs &&
      sameTls(tls, pool.tls)
    );
  }

  /** Throws for a request that cannot be put on the wire. */
  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    this.#headerLines(request.headers);
    const call = new PoolCall(this);
    const connection = this.#takeIdle();
    if (connection) {
      this.#start({ request, sink, call }, connection);
    } else {
      this.#waiting.push({ request, sink, call });
      this.#openMore();
    }
    return call;
  }

  /** Takes no new connections, and closes those there are as they fall idle. */
  drain(): void {
    this.#draining = true;
    this.#sweep?.cancel();
    this.#sweep = null;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Ends everything at once; those that wait are told. */
  destroy(): void {
    this.drain();
    for (const { sink } of this.#waiting.splice(0)) sink.onError("connect", "the pool is closed");
    for (const connection of [...this.#open, ...this.#connecting]) connection.destroy();
  }

  /** Takes a call that has not begun out of the line. */
  forget(call: PoolCall): void {
    const index = this.#waiting.findIndex((entry) => entry.call === call);
    if (index !== -1) this.#waiting.splice(index, 1);
  }

  onIdle(connection: Connection): void {
    this.#connecting.delete(connection);
    this.#open.add(connection);
    const next = this.#waiting.shift();
    if (next) {
      this.#start(next, connection);
    } else if (this.#draining) {
      connection.destroy();
    } else {
      const hint = connection.keepAliveHintMs;
      const keep = hint === null ? IDLE_MS : Math.min(Math.max(0, hint - IDLE_MARGIN_MS), IDLE_MS_MAX);
      connection.idleUntil = this.#clock.monotonic() + keep;
      this.#idle.push(connection);
      this.#sweep ??= this.#clock.after(keep, () => this.#closeStale());
    }
  }

  onGone(connection: Connection): void {
    this.#connecting.delete(connection);
    this.#open.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
    // One that never connected fails the call that has waited longest for one; the others get connections of their own.
    if (!connection.everConnected) this.#waiting.shift()?.sink.onError("connect", connection.failure);
    this.#openMore();
  }

  #start({ request, sink, call }: Waiting, connection: Connection): void {
    call.connection = connection;
    const { method, path, headers, body } = request;
    const length = body ? `content-length: ${body.length}\r\n` : "";
    connection.send(
      request,
      `${method} ${path} HTTP/1.1\r\n${this.#headerLines(headers)}${length}\r\n`,
      call.watch(sink),
    );
  }

  /** Header lines; a provider hands over the same list for every call that forwards nothing of its client's. */
  #headerLines(headers: readonly string[]): string {
    if (headers === this.#lastHeaders) return this.#lastLines;
    let lines = `host: ${this.#host}\r\n`;
    for (let i = 0; i + 1 < headers.length; i += 2) {
      // A key read from a file may end with a line end: it would end the head.
      if (/[\r\n\0]/.test(`${headers[i]}${headers[i + 1]}`)) throw new Error(`header ${headers[i]} holds a line end`);
      lines += `${headers[i]}: ${headers[i + 1]}\r\n`;
    }
    this.#lastHeaders = headers;
    this.#lastLines = lines;
    return lines;
  }

  /** The idle connection used last; those that have been idle too long are closed on the way. */
  #takeIdle(): Connection | null {
    const now = this.#clock.monotonic();
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.usable && connection.idleUntil > now) return connection;
      connection.destroy();
    }
    return null;
  }

  /** What a burst has left open and nothing has used since is given back. One timer a pool, not one a connection. */
  #closeStale(): void {
    const now = this.#clock.monotonic();
    for (const connection of [...this.#idle]) if (connection.idleUntil <= now) connection.destroy();
    const next = Math.min(...this.#idle.map((connection) => connection.idleUntil));
    this.#sweep = Number.isFinite(next) ? this.#clock.after(next - now, () => this.#closeStale()) : null;
  }

  #openMore(): void {
    while (
      this.#connecting.size < this.#waiting.length &&
      this.#open.size + this.#connecting.size < this.#options.connections
    ) {
      const deadline = { clock: this.#clock, ms: this.#connectTimeoutMs };
      this.#connecting.add(new Connection(this.#origin, this.#options.tls, this, deadline));
    }
  }
}

/** The same material, whether or not it was read anew. */
function sameTls(a: UpstreamTls | undefined, b: UpstreamTls | undefined): boolean {
  return a === b || (a?.ca === b?.ca && a?.cert === b?.cert && a?.key === b?.key);
}

/** A call in a pool: in line, then on a connection, then over. */
class PoolCall implements UpstreamCall {
  readonly #pool: Pool;
  connection: Connection | null = null;
  #over = false;
  #paused = false;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The sink, told to forget the connection once the call is over: by then it serves somebody else. */
  watch(sink: UpstreamSink): UpstreamSink {
    if (this.#paused) this.connection?.pause();
    return {
      onSent: () => sink.onSent(),
      onHeaders: (status, headers) => sink.onHeaders(status, headers),
      onData: (chunk) => sink.onData(chunk),
      onEnd: () => {
        this.#end();
        sink.onEnd();
      },
      onError: (kind, message) => {
        this.#end();
        sink.onError(kind, message);
      },
    };
  }

  abort(): void {
    if (this.#over) return;
    const { connection } = this;
    this.#end();
    if (connection) connection.abort();
    else this.#pool.forget(this);
  }

  pause(): void {
    this.#paused = true;
    this.connection?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.connection?.resume();
  }

  #end(): void {
    this.#over = true;
    this.connection = null;
  }
}
