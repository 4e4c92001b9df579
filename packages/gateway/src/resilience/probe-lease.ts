import type { Clock } from "../core/clock.ts";
import { PROBE_ASK_MS_MAX, PROBE_LEASE_MS, PROBE_MS_MAX, PROBE_RENEW_MS } from "./bounds.ts";
import type { SharedBoard } from "./shared-board.ts";

/** Under which name replicas take turns in probing `key`. */
export function leaseName(key: string): string {
  return `probe:${key}`;
}

/** Whether this replica may probe `key`. A store that cannot say, or takes too long to, leaves it to this one. */
export function askForProbe(shared: SharedBoard, clock: Clock, key: string): boolean | Promise<boolean> {
  let leased: boolean | Promise<boolean>;
  try {
    leased = shared.lease(leaseName(key), PROBE_LEASE_MS);
  } catch {
    return true;
  }
  if (typeof leased === "boolean") return leased;
  const asked = leased;
  return new Promise((resolve) => {
    const timer = clock.after(PROBE_ASK_MS_MAX, () => resolve(true));
    const finish = (granted: boolean): void => {
      timer.cancel();
      resolve(granted);
    };
    asked.then(finish, () => finish(true));
  });
}

/** Keeps a probe's place for as long as its call may take; then calls `lost`. Returns what ends it. */
export function keepProbe(shared: SharedBoard, clock: Clock, key: string, lost: () => void): () => void {
  let leftMs = PROBE_MS_MAX;
  const renew = (): void => {
    leftMs -= PROBE_RENEW_MS;
    if (leftMs <= 0) return lost();
    timer = clock.after(PROBE_RENEW_MS, renew);
    // Refused or lost, the probe is out all the same.
    try {
      const leased = shared.lease(leaseName(key), PROBE_LEASE_MS);
      if (typeof leased !== "boolean") leased.catch(() => {});
    } catch {}
  };
  let timer = clock.after(PROBE_RENEW_MS, renew);
  return () => timer.cancel();
}
