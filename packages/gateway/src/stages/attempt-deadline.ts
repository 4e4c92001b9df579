import type { AttemptTimeouts } from "../resilience/timeouts.ts";

/** How long a stream that has said why it stopped may take for its usage and its end mark, ms. */
const AFTER_FINISH_MS = 5_000;

/** How long the body of an error answer may take: its status has already said most of it, ms. */
const ERROR_BODY_MS = 2_000;

/** How long an upstream may keep a connection open after the end of its stream, ms. */
export const LINGER_MS = 1_000;

/** Where an attempt stands. Times are monotonic ms. */
export interface AttemptTimes {
  startedAt: number;
  sentAt: number | null;
  /** When the head of an error answer came. */
  refusedAt: number | null;
  /** The commit point has been passed. */
  committed: boolean;
  /** Every choice has its finish reason. */
  finished: boolean;
  /** Reading is paused, because the client is behind. */
  paused: boolean;
  lastActivityAt: number;
}

/** When an attempt is given up next, and what is then missing. */
export interface Deadline {
  at: number;
  what: "connect" | "first token" | "answer" | "next chunk" | "end";
}

/** The deadline that comes first (ruling 4). Before the commit point: connect, first token, hop; after it: idle, stream_max. */
export function nextDeadline(times: AttemptTimes, timeouts: AttemptTimeouts): Deadline {
  const { startedAt, sentAt } = times;
  if (times.committed) {
    const end = startedAt + timeouts.streamMaxMs;
    const idleMs = times.finished ? Math.min(AFTER_FINISH_MS, timeouts.idleMs) : timeouts.idleMs;
    // A client that does not read stops the clock for the upstream, but not the one for the whole.
    const idle = times.paused ? end : times.lastActivityAt + idleMs;
    return idle < end ? { at: idle, what: "next chunk" } : { at: end, what: "end" };
  }
  const hop = startedAt + timeouts.hopMs;
  if (sentAt === null) {
    const connect = startedAt + timeouts.connectMs;
    return connect < hop ? { at: connect, what: "connect" } : { at: hop, what: "answer" };
  }
  if (times.refusedAt !== null) return { at: Math.min(times.refusedAt + ERROR_BODY_MS, hop), what: "answer" };
  const first = timeouts.firstTokenMs === null ? hop : sentAt + timeouts.firstTokenMs;
  return first < hop ? { at: first, what: "first token" } : { at: hop, what: "answer" };
}
