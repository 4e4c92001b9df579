import type { Clock } from "../core/clock.ts";
import { idAt } from "../core/ids.ts";
import type { Random } from "../core/random.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Protocol } from "../protocols/protocol.ts";

/** One client request as it arrived: who it is, when it came, and where its time goes. Times are ms. */
export interface Visit {
  requestId: string;
  clientRequestId: string | null;
  protocol: Protocol;
  /** Epoch. */
  startedAt: number;
  /** Monotonic. */
  arrivedAt: number;
  /** Time spent waiting for somebody else: the client's body, providers, back-off. The rest is our own. */
  waitedMs: number;
}

/** Opens the record of a request. */
export function openVisit(clock: Clock, random: Random, exchange: Exchange, protocol: Protocol): Visit {
  const startedAt = clock.now();
  return {
    requestId: idAt("req", startedAt, random),
    clientRequestId: (exchange.header("x-request-id") ?? exchange.header("x-client-request-id"))?.slice(0, 128) ?? null,
    protocol,
    startedAt,
    arrivedAt: clock.monotonic(),
    waitedMs: 0,
  };
}
