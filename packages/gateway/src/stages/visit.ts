import type { Clock } from "../core/clock.ts";
import { idAt } from "../core/ids.ts";
import { clippedText } from "../core/own-text.ts";
import type { Random } from "../core/random.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Protocol } from "../protocols/protocol.ts";

/** The client's own name for its request is kept up to this length. */
const CLIENT_ID_CHARS_MAX = 128;

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
  const given = exchange.header("x-request-id") ?? exchange.header("x-client-request-id");
  return {
    requestId: idAt("req", startedAt, random),
    clientRequestId: given === undefined ? null : clippedText(given, CLIENT_ID_CHARS_MAX),
    protocol,
    startedAt,
    arrivedAt: clock.monotonic(),
    waitedMs: 0,
  };
}
