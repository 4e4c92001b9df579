import type { Clock } from "../core/clock.ts";
import type { Transport, UpstreamRequest } from "../core/transport.ts";
import { ALERT_BOUNDS } from "./bounds.ts";

/** What became of a POST: taken (2xx), refused for good (another try gets the same), or failed. */
export type PostOutcome = "taken" | "refused" | "failed";

/** A POST on its way. */
export interface Posting {
  /** Ends it; nothing is told afterwards. */
  abort(): void;
}

/**
 * Posts JSON and tells, once, what became of it; never throws. It has timeouts of its own, and reads of the answer only
 * as much as lets its connection be used again.
 */
export function post(
  { transport, clock }: { transport: Transport; clock: Clock },
  { url, pool, body }: { url: URL; pool: string; body: Buffer },
  told: (outcome: PostOutcome) => void,
): Posting {
  let outcome: PostOutcome = "failed";
  let bytes = 0;
  let call: Posting | null = null;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    timer.cancel();
    told(outcome);
  };
  const cut = (): void => {
    call?.abort();
    end();
  };
  const timer = clock.after(ALERT_BOUNDS.postMs, cut);
  try {
    call = transport.send(requestOf(url, pool, body), {
      onSent: () => {},
      onHeaders: (status) => {
        outcome = outcomeOf(status);
      },
      onData: (chunk) => {
        bytes += chunk.length;
        if (bytes > ALERT_BOUNDS.answerBytesMax) cut();
      },
      onEnd: end,
      onError: end,
    });
  } catch {
    end();
  }
  return {
    abort() {
      isOver = true;
      timer.cancel();
      call?.abort();
    },
  };
}

function requestOf(url: URL, pool: string, body: Buffer): UpstreamRequest {
  return {
    origin: url.origin,
    method: "POST",
    path: `${url.pathname}${url.search}`,
    headers: ["content-type", "application/json", "user-agent", "sluicegate"],
    body,
    connectTimeoutMs: ALERT_BOUNDS.connectMs,
    pool: { key: pool, connections: 1 },
  };
}

function outcomeOf(status: number): PostOutcome {
  if (status >= 200 && status < 300) return "taken";
  return status >= 500 || status === 408 || status === 429 ? "failed" : "refused";
}
