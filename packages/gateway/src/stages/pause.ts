import type { Cancel } from "../core/cancel.ts";
import { GatewayError } from "../core/errors.ts";
import type { DataPlane } from "./plane.ts";
import type { Visit } from "./visit.ts";

/** Clocks and timers differ by a millisecond or two: who waits to the very end of a cooldown may come too early. */
export const LATE_MS = 5;

/** Waits `ms`, as time that is not our own. Ends early, with an error, when the client leaves. */
export function pause({ clock }: Pick<DataPlane, "clock">, visit: Visit, ms: number, cancel: Cancel): Promise<void> {
  if (ms <= 0 && !cancel.cancelled) return Promise.resolve();
  const started = clock.monotonic();
  return new Promise((resolve, reject) => {
    const done = (act: () => void): void => {
      timer.cancel();
      forget();
      visit.waitedMs += clock.monotonic() - started;
      act();
    };
    let forget = (): void => {};
    const timer = clock.after(ms, () => done(resolve));
    forget = cancel.onCancel(() => done(() => reject(clientLeft())));
  });
}

/** What `promise` comes to, as time that is not our own; `otherwise` when it fails, takes over `ms`, or the client leaves. */
export async function waitFor<T>(
  { clock }: Pick<DataPlane, "clock">,
  visit: Visit,
  { promise, ms, otherwise }: { promise: Promise<T>; ms: number; otherwise: T },
  cancel: Cancel,
): Promise<T> {
  const started = clock.monotonic();
  const came = await new Promise<T>((resolve) => {
    const finish = (value: T): void => {
      timer.cancel();
      forget();
      resolve(value);
    };
    let forget = (): void => {};
    const timer = clock.after(ms, () => finish(otherwise));
    forget = cancel.onCancel(() => finish(otherwise));
    promise.then(finish, () => finish(otherwise));
  });
  visit.waitedMs += clock.monotonic() - started;
  return came;
}

/** What a request comes to whose client has gone. */
export function clientLeft(): GatewayError {
  return new GatewayError("cancelled", "the client left");
}
