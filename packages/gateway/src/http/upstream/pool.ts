import type { Clock, Timer } from "../../core/clock.ts";
import type { UpstreamCall, UpstreamRequest, UpstreamSink, UpstreamTls } from "../../core/transport.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import { type Dialer, dialer } from "./dial.ts";
import { Exchange, type Line } from "./exchange.ts";
import { RequestHeads } from "./request-head.ts";

/** How long an idle connection is used again when the upstream does not say how long it keeps one. Node's own default is 5 s. */
const IDLE_MS = 4_000;
const IDLE_MS_MAX = 300_000;
/** Left of the upstream's own time, so that both ends do not meet at the limit. */
const IDLE_MARGIN_MS = 1_000;

/**
 * Connections to one origin for one deployment. A request takes the idle connection used last, else opens one while
 * fewer than `connections` are open, else waits in line; its own timers bound the wait.
 */
export class Pool implements ConnectionOwner, Line {
  readonly #origin: string;
  readonly #dialer: Dialer;
  readonly #heads: RequestHeads;
  readonly #options: UpstreamRequest["pool"];
  readonly #connectTimeoutMs: number;
  readonly #clock: Clock;
  readonly #open = new Set<Connection>();
  /** Each is for one of those that wait; the oldest first. */
  readonly #connecting: Connection[] = [];
  /** The one used last is the last. */
  readonly #idle: Connection[] = [];
  readonly #waiting: Exchange[] = [];
  #expiry: Timer | null = null;
  #draining = false;

  /** Throws for an origin, or TLS material, that is none. */
  constructor(request: UpstreamRequest, clock: Clock) {
    const origin = new URL(request.origin);
    this.#origin = request.origin;
    this.#dialer = dialer(origin, request.pool.tls);
    this.#heads = new RequestHeads(origin.host);
    this.#options = request.pool;
    this.#connectTimeoutMs = request.connectTimeoutMs;
    this.#clock = clock;
  }

  /** True while the connections `request` asks for are those of this pool. */
  serves({ origin, pool, connectTimeoutMs }: UpstreamRequest): boolean {
    const { connections, tls } = this.#options;
    return (
      origin === this.#origin &&
      connections === pool.connections &&
      connectTimeoutMs === this.#connectTimeoutMs &&
      sameTls(tls, pool.tls)
    );
  }

  /** Nothing is open, and nothing waits. */
  get isEmpty(): boolean {
    return this.#open.size + this.#connecting.length + this.#waiting.length === 0;
  }

  /** Throws for a request that cannot be put on the wire. */
  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const exchange = new Exchange(this.#heads.write(request), sink, this);
    const connection = this.#takeIdle();
    if (connection) {
      exchange.begin(connection);
    } else {
      this.#waiting.push(exchange);
      this.#openMore();
    }
    return exchange;
  }

  /** Takes no new connections, and closes those there are as they fall idle. */
  drain(): void {
    this.#draining = true;
    this.#expiry?.cancel();
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Ends everything at once; calls are told. */
  destroy(): void {
    this.drain();
    for (const exchange of this.#waiting.splice(0)) exchange.fail("connect", "closed by the gateway");
    for (const connection of [...this.#open, ...this.#connecting.splice(0)])
      connection.destroy("closed by the gateway");
  }

  forget(exchange: Exchange): void {
    const index = this.#waiting.indexOf(exchange);
    if (index === -1) return;
    this.#waiting.splice(index, 1);
    // Nobody waits for the youngest any more. It leaves the list first: its end is no failure of another's.
    if (this.#connecting.length > this.#waiting.length) this.#connecting.pop()?.destroy();
  }

  onConnected(connection: Connection): void {
    remove(this.#connecting, connection);
    this.#open.add(connection);
    this.onIdle(connection);
  }

  onIdle(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next) {
      next.begin(connection);
    } else if (this.#draining) {
      connection.destroy();
    } else {
      const hint = connection.keepAliveHintMs;
      const keep = hint === null ? IDLE_MS : Math.min(Math.max(0, hint - IDLE_MARGIN_MS), IDLE_MS_MAX);
      connection.idleUntil = this.#clock.monotonic() + keep;
      this.#idle.push(connection);
      this.#expiry ??= this.#clock.after(keep, () => this.#expire());
    }
  }

  onGone(connection: Connection): void {
    this.#open.delete(connection);
    remove(this.#idle, connection);
    // One that never came to be fails the call that has waited longest for one; the others get connections of their own.
    if (remove(this.#connecting, connection)) {
      const exchange = this.#waiting.shift();
      if (exchange) connection.failWaiting(exchange);
    }
    this.#openMore();
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

  /** Closes what was idle too long: after a burst, most connections would never be taken again, and so never looked at. */
  #expire(): void {
    this.#expiry = null;
    const now = this.#clock.monotonic();
    for (const connection of this.#idle.filter(({ idleUntil }) => idleUntil <= now)) connection.destroy();
    if (this.#idle.length === 0) return;
    const next = this.#idle.reduce((soonest, { idleUntil }) => Math.min(soonest, idleUntil), Number.POSITIVE_INFINITY);
    this.#expiry = this.#clock.after(next - now, () => this.#expire());
  }

  #openMore(): void {
    while (
      this.#connecting.length < this.#waiting.length &&
      this.#open.size + this.#connecting.length < this.#options.connections
    ) {
      this.#connecting.push(new Connection(this.#dialer, this, { clock: this.#clock, ms: this.#connectTimeoutMs }));
    }
  }
}

/** Whether it was there. */
function remove(from: Connection[], connection: Connection): boolean {
  const index = from.indexOf(connection);
  if (index !== -1) from.splice(index, 1);
  return index !== -1;
}

/** The same material, whether or not it was read anew. */
function sameTls(a: UpstreamTls | undefined, b: UpstreamTls | undefined): boolean {
  return a === b || (a?.ca === b?.ca && a?.cert === b?.cert && a?.key === b?.key);
}
