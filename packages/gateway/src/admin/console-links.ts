import { hash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { Random } from "../core/random.ts";

/** How long a link that nobody opened stays good. */
const LINK_MS = 24 * 3_600_000;
const LINKS_MAX = 100;

/** One-time tokens for `/console?token=…`: whoever opens one is signed in as admin. */
export interface ConsoleLinks {
  /** A new token, good once and for 24 hours. */
  issue(): string;
  /** True for a good token, which is then used up. */
  redeem(token: string): boolean;
}

/** A store of tokens in memory; only hashes are kept. */
export function createConsoleLinks(clock: Clock, random: Random): ConsoleLinks {
  const expiries = new Map<string, number>();
  return {
    issue() {
      const token = Buffer.from(random.bytes(32)).toString("base64url");
      const oldest = expiries.keys().next().value;
      if (expiries.size >= LINKS_MAX && oldest !== undefined) expiries.delete(oldest);
      expiries.set(hash("sha256", token), clock.now() + LINK_MS);
      return token;
    },
    redeem(token) {
      const key = hash("sha256", token);
      const expiry = expiries.get(key);
      expiries.delete(key);
      return expiry !== undefined && expiry > clock.now();
    },
  };
}
