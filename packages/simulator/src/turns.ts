import { type Problem, problem } from "./models/problem.ts";
import type { Model } from "./models/resolve.ts";
import type { Settings } from "./models/settings.ts";

const NAMES_MAX = 10_000;
const MINUTE_MS = 60_000;

/** One limit a minute, and what is left of it. */
export interface Limit {
  readonly perMinute: number;
  readonly left: number;
  /** Until all of it is back. */
  readonly resetMs: number;
}

/** The limits of a model; null where it has none of that unit. */
export interface Limits {
  readonly requests: Limit | null;
  readonly tokens: Limit | null;
}

interface Bucket {
  requests: number;
  tokens: number;
  at: number;
}

/** What a model remembers between its calls, by full name: how often it was hit, what is left of its limits. */
export class Turns {
  #hits = new Map<string, number>();
  #buckets = new Map<string, Bucket>();

  /** Counts a hit and tells whether the model misbehaves this time, by `times` and `every`. */
  misbehaves(model: Model): boolean {
    const { times, every } = model.settings;
    if (times === undefined && every === undefined) return true;
    const hit = (this.#hits.get(model.full) ?? 0) + 1;
    remember(this.#hits, model.full, hit);
    return (times === undefined || hit <= times) && (every === undefined || (every > 0 && hit % every === 0));
  }

  /** Takes a request and `tokens` from the `rpm` and `tpm` buckets, both or neither; null when they had enough. */
  limit(model: Model, tokens: number, nowMs: number): Problem | null {
    const { rpm, tpm } = model.settings;
    if (rpm === undefined && tpm === undefined) return null;
    const bucket = this.#refilled(model, nowMs);
    const forRequest = waitMs(1, bucket.requests, rpm);
    const forTokens = waitMs(tokens, bucket.tokens, tpm);
    const wait = Math.max(forRequest, forTokens);
    if (wait === 0) {
      bucket.requests -= 1;
      bucket.tokens -= tokens;
      return null;
    }
    const unit = forRequest >= forTokens ? "requests" : "tokens";
    const text = `Rate limit reached on ${unit} per min. Please try again in ${Math.ceil(wait)}ms.`;
    const headers = { "retry-after": String(Math.ceil(wait / 1000)), "retry-after-ms": String(Math.ceil(wait)) };
    return problem("rate_limited", 429, text, { type: unit, headers, stock: true });
  }

  /** What is left to a model that has limits, else null. */
  limits(model: Model): Limits | null {
    const { rpm, tpm } = model.settings;
    if (rpm === undefined && tpm === undefined) return null;
    const bucket = this.#buckets.get(model.full);
    if (bucket === undefined) return null;
    return { requests: limitOf(bucket.requests, rpm), tokens: limitOf(bucket.tokens, tpm) };
  }

  reset(): void {
    this.#hits = new Map();
    this.#buckets = new Map();
  }

  #refilled(model: Model, nowMs: number): Bucket {
    const { rpm = 0, tpm = 0 } = model.settings;
    const bucket = this.#buckets.get(model.full) ?? { requests: rpm, tokens: tpm, at: nowMs };
    const share = Math.max(0, nowMs - bucket.at) / MINUTE_MS;
    bucket.requests = Math.min(rpm, bucket.requests + rpm * share);
    bucket.tokens = Math.min(tpm, bucket.tokens + tpm * share);
    bucket.at = nowMs;
    remember(this.#buckets, model.full, bucket);
    return bucket;
  }
}

function waitMs(wanted: number, left: number, perMinute: number | undefined): number {
  if (perMinute === undefined || left >= wanted) return 0;
  return perMinute === 0 ? MINUTE_MS : ((Math.min(wanted, perMinute) - left) / perMinute) * MINUTE_MS || MINUTE_MS;
}

function limitOf(left: number, perMinute: Settings["rpm"]): Limit | null {
  if (perMinute === undefined) return null;
  const reset = perMinute === 0 ? MINUTE_MS : ((perMinute - left) / perMinute) * MINUTE_MS;
  return { perMinute, left: Math.max(0, Math.floor(left)), resetMs: Math.ceil(reset) };
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key) && map.size >= NAMES_MAX) {
    const [oldest] = map.keys();
    if (oldest !== undefined) map.delete(oldest);
  }
  map.set(key, value);
}
