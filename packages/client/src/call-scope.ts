import { createError } from "./error-table.ts";
import type { SluicegateError } from "./errors.ts";

/** What timers take at most; a longer time-out fires at once in every runtime. */
const TIMER_MAX_MS = 2_147_483_647;

/** The life of one call: everything that can end it early reaches `signal`. */
export interface CallScope {
  readonly signal: AbortSignal;
  /** Starts the time-out anew; the call is aborted with a TimeoutError when it runs out. */
  arm(): void;
  /** Stops the time-out. */
  disarm(): void;
  /** Aborts the request, with an AbortError. */
  abort(): void;
  /** Stops the time-out and lets go of the caller's signal; call it once nothing runs any more. */
  end(): void;
  /** What to throw for a failure: the reason of the abort that caused it, or `otherwise`. */
  reason(otherwise: () => SluicegateError): unknown;
}

/** Opens the scope of a call that the caller's signal and the time-out can end. */
export function openCallScope(timeoutMs: number, outer: AbortSignal | undefined): CallScope {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onOuterAbort = () => controller.abort(outer?.reason);
  const onTimeout = () =>
    controller.abort(createError({ message: `no answer within ${timeoutMs} ms`, code: "client_timeout" }));

  if (outer?.aborted) onOuterAbort();
  else outer?.addEventListener("abort", onOuterAbort, { once: true });

  const disarm = () => clearTimeout(timer);
  return {
    signal,
    disarm,
    arm() {
      clearTimeout(timer);
      timer = setTimeout(onTimeout, Math.min(timeoutMs, TIMER_MAX_MS));
    },
    abort: () => controller.abort(),
    end() {
      disarm();
      outer?.removeEventListener("abort", onOuterAbort);
    },
    reason: (otherwise) => (signal.aborted ? signal.reason : otherwise()),
  };
}
