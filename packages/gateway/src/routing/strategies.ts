import type { Route, Strategy } from "../config/snapshot.ts";
import { type Price, ratesFor } from "../core/money.ts";
import { priceAt } from "../core/price.ts";
import type { RouteFacts } from "./facts.ts";
import { type Known, latencyOf, observed, scoreOf } from "./health-score.ts";
import { isWell } from "./order-by-health.ts";
import { drawOf } from "./stable-hash.ts";

/** A deployment of a chain in the order of a strategy, with what it was ordered by. */
export interface Ranked extends Known {
  /** What the strategy went by: a weight, USD, ms, calls or a score, as `reason` says. */
  score: number | undefined;
  reason: string;
}

/** What strategies look at besides the deployments. */
export interface Ordering {
  facts: RouteFacts;
  settings: Pick<Route, "latencySloMs" | "health">;
  /** By deployment; absent: all alike. */
  weights?: ReadonlyMap<string, number> | undefined;
}

/** Of the calls that a deployment would not get by its rank, so many go to one that nobody knows, so that it becomes known. */
const EXPLORED_SHARE = 0.05;
/** Output tokens of a request that sets no cap, where prices are compared. */
const OUTPUT_TOKENS_USUAL = 500;
/** Nano-USD per million tokens in a USD per token. */
const NANO_PER_MILLION = 1e15;
const INFINITE = Number.POSITIVE_INFINITY;
/** The reason of the strategy that looks at nothing. */
export const IN_ORDER = "in the order of the chain";
const UNKNOWN_PACE = "its latency is not known yet";
/** Salts of the draws that are not made for one deployment; those count from 0. */
const EXPLORE = 1_000;
const EXPLORE_WHICH = 1_001;

/** Orders what the gates let through (ROUTE-7), as if all were well: health has its say afterwards. */
export function ranked(strategy: Strategy, chain: readonly Known[], ordering: Ordering): Ranked[] {
  return STRATEGIES[strategy](chain, ordering);
}

// Reasons are words that are made once: requests are ordered far more often than anybody reads why.
const STRATEGIES: Readonly<Record<Strategy, (chain: readonly Known[], ordering: Ordering) => Ranked[]>> = {
  ordered: (chain) =>
    chain.map(({ deployment, health }) => ({ deployment, health, score: undefined, reason: IN_ORDER })),
  weighted: (chain, { facts, weights }) =>
    sampled(
      chain.map(({ deployment, health }) => {
        const score = weights?.get(deployment.name) ?? 1;
        return { deployment, health, score, reason: score > 0 ? "drawn by its weight" : "weight 0: a fallback only" };
      }),
      facts.draw,
    ),
  cheapest,
  fastest,
  least_busy: (chain) =>
    chain
      .map(({ deployment, health }) => ({
        deployment,
        health,
        score: health.inFlight,
        reason: "by calls on their way",
      }))
      .sort((a, b) => a.score - b.score),
  health: (chain, { facts }) =>
    sampled(
      chain.map((known) => {
        const score = scoreOf(known, chain, facts.stream === true);
        return { deployment: known.deployment, health: known.health, score, reason: "drawn by its health" };
      }),
      facts.draw,
    ),
};

/** In random order, each in front as often as its score says; nothing goes before what scores more than 0. */
function sampled(chain: readonly (Ranked & { score: number })[], draw: number): Ranked[] {
  // Each waits for an exponential time, at its own rate; the first to be there is drawn in proportion to the rates.
  const waiting = chain.map((known, i) => ({
    known,
    wait: known.score > 0 ? -Math.log(1 - drawOf(draw, i)) / known.score : Number.POSITIVE_INFINITY,
  }));
  return waiting.sort((a, b) => less(a.wait, b.wait)).map(({ known }) => known);
}

function fastest(chain: readonly Known[], ordering: Ordering): Ranked[] {
  const stream = ordering.facts.stream === true;
  const order = chain
    .map((known): Ranked => {
      const { deployment, health } = known;
      const ms = latencyOf(known, stream);
      if (ms === null) return { deployment, health, score: undefined, reason: UNKNOWN_PACE };
      const reason = observed(health, stream) === null ? "by its expected latency, ms" : "by its median latency, ms";
      return { deployment, health, score: ms, reason };
    })
    .sort((a, b) => less(a.score ?? INFINITE, b.score ?? INFINITE));
  return explored(order, ordering, () => true);
}

interface Priced extends Ranked {
  usd: number;
  latencyMs: number;
  /** Fast enough, slower than that, or a paid capacity that is full. */
  rank: 0 | 1 | 2;
}

/** The cheapest of those that are fast enough; where none is, the fastest. Provisioned capacity is paid until it is full. */
function cheapest(chain: readonly Known[], ordering: Ordering): Ranked[] {
  const { facts, settings } = ordering;
  const slo = settings.latencySloMs;
  const order = chain.map((known) => pricedAt(known, facts, slo));
  order.sort((a, b) => {
    if (a.rank !== b.rank) return a.rank - b.rank;
    return a.rank === 1 ? less(a.latencyMs, b.latencyMs) : less(a.usd, b.usd);
  });
  const [first] = order;
  if (slo === null || !first) return order;
  const prices = new Map(order.map(({ deployment, usd }) => [deployment, usd]));
  return explored(order, ordering, ({ deployment }) => first.rank !== 0 || (prices.get(deployment) ?? 0) < first.usd);
}

function pricedAt({ deployment, health }: Known, facts: RouteFacts, slo: number | null): Priced {
  const latencyMs = slo === null ? 0 : (latencyOf({ deployment, health }, facts.stream === true) ?? INFINITE);
  const pace = slo === null || latencyMs <= slo ? 0 : 1;
  const owned = deployment.capacity === "provisioned";
  if (owned && health.saturation < 1) {
    return { deployment, health, score: 0, reason: "paid for already", usd: 0, latencyMs, rank: pace };
  }
  const price = priceAt(deployment.prices, facts.at);
  const own = price === null && deployment.capacity === "self_hosted";
  const usd = own ? 0 : price === null ? INFINITE : usdFor(facts, price);
  const score = usd === INFINITE ? undefined : usd;
  if (owned) return { deployment, health, score, reason: "its paid capacity is full", usd, latencyMs, rank: 2 };
  const reason = pace === 1 ? slowWords(latencyMs) : priceWords(usd, own);
  return { deployment, health, score, reason, usd, latencyMs, rank: pace };
}

function priceWords(usd: number, own: boolean): string {
  if (own) return "your own server";
  return usd === INFINITE ? "its price is not known" : "by its price, USD";
}

function slowWords(latencyMs: number): string {
  return latencyMs === INFINITE ? UNKNOWN_PACE : "slower than latency_slo";
}

/** What the request would cost, as far as that can be told beforehand. */
function usdFor(facts: RouteFacts, price: Price): number {
  const rates = ratesFor(price, facts.input_tokens);
  const output = facts.max_output_tokens ?? OUTPUT_TOKENS_USUAL;
  return (facts.input_tokens * rates.input + output * rates.output) / NANO_PER_MILLION;
}

/** Smaller first; two infinite ones are alike. */
function less(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

/** Now and then, one that is well and unknown goes first. */
function explored(order: Ranked[], { facts, settings }: Ordering, worthIt: (known: Known) => boolean): Ranked[] {
  if (order.length < 2 || drawOf(facts.draw, EXPLORE) >= EXPLORED_SHARE) return order;
  const stream = facts.stream === true;
  const view = { settings: settings.health, atMs: facts.at, stream, rampDraw: () => 1 };
  const unknown = order.filter(
    (known) => observed(known.health, stream) === null && isWell(known, view) && worthIt(known),
  );
  const chosen = unknown[Math.floor(drawOf(facts.draw, EXPLORE_WHICH) * unknown.length)];
  if (!chosen || chosen === order[0]) return order;
  return [
    { ...chosen, reason: "asked by draw, so that it becomes known" },
    ...order.filter((known) => known !== chosen),
  ];
}
