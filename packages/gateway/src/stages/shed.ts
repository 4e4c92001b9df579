import type { Call } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import type { DataPlane } from "./plane.ts";

/** Turns work away before latency collapses (RES-9), the less urgent first. Throws overloaded with a time to come back. */
export function shed({ shedder }: DataPlane, { platform }: Call): void {
  const retryAfterMs = shedder.refuses(platform.priority ?? "normal");
  if (retryAfterMs === null) return;
  throw new GatewayError("overloaded", "this gateway has more work than it can do; come back in a while", {
    retryAfterMs,
    shouldRetry: true,
  });
}
