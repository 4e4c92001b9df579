import type { Route, Strategy } from "../config/snapshot.ts";
import { ratesFor } from "../core/money.ts";
import { priceAt } from "../core/price.ts";
import type { RouteFacts } from "./facts.ts";
import { type Known, latencyOf, observed, scoreOf } from "./health-score.ts";
import { isWell } from "./order-by-health.ts";
import { drawOf } from "./stable-hash.ts";

/** A deployment of a chain in the order of a strategy, with what it was ordered by. */
export interface Ranked extends Known {
  /** What the strategy went by: a weight, USD, ms, calls or a score, as `reason` says. */
  score?: number;
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
/** Salts of the draws that are not made for one deployment; those count from 0. */
const EXPLORE = 1_000;
const EXPLORE_WHICH = 1_001;

/** Orders what the gates let through (ROUTE-7), as if all were well: health has its say afterwards. */
export function ranked(strategy: Strategy, chain: readonly Known[], ordering: Ordering): Ranked[] {
  return STRATEGIES[strategy](chain, ordering);
}

const STRATEGIES: Readonly<Record<Strategy, (chain: readonly Known[], ordering: Ordering) => Ranked[]>> = {
  ordered: (chain) => chain.map((known) => ({ ...known, reason: "in the order of the chain" })),
  weighted: (chain, { facts, weights }) =>
    sampled(
      chain.map((known) => {
        const weight = weights?.get(known.deployment.name) ?? 1;
        return {
          ...known,
          score: weight,
          reason: weight > 0 ? `drawn by weight ${weight}` : "weight 0: as a fallback",
        };
      }),
      facts.draw,
    ),
  cheapest,
  fastest,
  least_busy: (chain) =>
    chain
      .map((known) => ({
        ...known,
        score: known.health.inFlight,
        reason: `${known.health.inFlight} calls on their way`,
      }))
      .sort((a, b) => a.score - b.score),
  health: (chain, { facts }) =>
    sampled(
      chain.map((known) => {
        const score = scoreOf(known, chain, facts.stream === true);
        return { ...known, score, reason: `drawn by its health, ${score.toFixed(2)}` };
      }),
      facts.draw,
    ),
};

/** In random order, each in front as often as its score says; nothing goes before what scores more than 0. */
function sampled(chain: (Ranked & { score: number })[], draw: number): Ranked[] {
  // Each waits for an exponential time, at its own rate; the first to be there is drawn in proportion to the rates.
  const waits = new Map(chain.map((entry, i) => [entry, -Math.log(1 - drawOf(draw, i)) / entry.score]));
  return chain.sort((a, b) => {
    if (a.score <= 0 || b.score <= 0) return b.score - a.score;
    return (waits.get(a) ?? 0) - (waits.get(b) ?? 0);
  });
}

function fastest(chain: readonly Known[], ordering: Ordering): Ranked[] {
  const stream = ordering.facts.stream === true;
  const order = chain
    .map((known) => ({ ...known, ...pace(known, stream) }))
    .sort((a, b) => (a.score ?? Number.POSITIVE_INFINITY) - (b.score ?? Number.POSITIVE_INFINITY) || 0);
  return explored(order, ordering, () => true);
}

function pace(known: Known, stream: boolean): Pick<Ranked, "score" | "reason"> {
  const ms = latencyOf(known, stream);
  if (ms === null) return { reason: "its latency is not known yet" };
  const source = observed(known.health, stream) === null ? "expected" : "median";
  return { score: ms, reason: `${source} latency ${Math.round(ms)} ms` };
}

interface Priced extends Ranked {
  usd: number | null;
  latencyMs: number | null;
  meets: boolean;
  full: boolean;
}

/** The cheapest of those that are fast enough; where none is, the fastest. Provisioned capacity is paid until it is full. */
function cheapest(chain: readonly Known[], ordering: Ordering): Ranked[] {
  const { facts, settings } = ordering;
  const slo = settings.latencySloMs;
  const priced: Priced[] = chain.map((known) => {
    const latencyMs = latencyOf(known, facts.stream === true);
    const meets = slo === null || (latencyMs !== null && latencyMs <= slo);
    return { ...known, ...priceOf(known, facts), latencyMs, meets };
  });
  const infinite = Number.POSITIVE_INFINITY;
  const rank = ({ full, meets }: Priced): number => (full ? 2 : meets ? 0 : 1);
  priced.sort((a, b) => {
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    return rank(a) === 1
      ? less(a.latencyMs ?? infinite, b.latencyMs ?? infinite)
      : less(a.usd ?? infinite, b.usd ?? infinite);
  });
  const order = priced.map(({ usd, latencyMs, meets, full, ...known }): Ranked => {
    if (meets || full || slo === null) return known;
    const words = latencyMs === null ? "its latency is not known yet" : `slower than ${slo} ms`;
    return { ...known, reason: `${known.reason}, ${words}` };
  });
  if (slo === null) return order;
  const [first] = priced;
  const worthIt = ({ deployment }: Known): boolean => {
    const own = priced.find((other) => other.deployment === deployment)?.usd ?? infinite;
    return !first?.meets || own < (first.usd ?? infinite);
  };
  return explored(order, ordering, worthIt);
}

/** Smaller first; two infinite ones are alike. */
function less(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

function priceOf(known: Known, facts: RouteFacts): Pick<Priced, "usd" | "full" | "score" | "reason"> {
  const { deployment, health } = known;
  const owned = deployment.capacity === "provisioned";
  if (owned && health.saturation < 1) return { usd: 0, full: false, score: 0, reason: "paid for already" };
  const full = owned;
  const price = priceAt(deployment.prices, facts.at);
  if (price === null) {
    if (deployment.capacity === "self_hosted") return { usd: 0, full: false, score: 0, reason: "your own server" };
    return { usd: null, full, reason: full ? "its paid capacity is full" : "its price is not known" };
  }
  const rates = ratesFor(price, facts.input_tokens);
  const nanoPerMillion =
    facts.input_tokens * rates.input + (facts.max_output_tokens ?? OUTPUT_TOKENS_USUAL) * rates.output;
  const usd = nanoPerMillion / 1e15;
  return { usd, full, score: usd, reason: full ? "its paid capacity is full" : `costs about $${usd.toPrecision(2)}` };
}

/** Now and then, one that is well and unknown goes first. */
function explored(order: Ranked[], { facts, settings }: Ordering, worthIt: (known: Known) => boolean): Ranked[] {
  const stream = facts.stream === true;
  if (order.length < 2 || drawOf(facts.draw, EXPLORE) >= EXPLORED_SHARE) return order;
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
