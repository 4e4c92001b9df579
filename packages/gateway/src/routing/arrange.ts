import { affinityKey, returnDraw, stayingWith } from "./affinity.ts";
import type { Way } from "./decide.ts";
import type { DecideInput, Kept } from "./decision.ts";
import { type HealthView, isAtEase, isWell, orderedByHealth } from "./order-by-health.ts";
import { drawOf } from "./stable-hash.ts";
import { IN_ORDER, type Ranked, ranked } from "./strategies.ts";

const ALONE = "the only one left";
/** Salt of the draw by which a recovering deployment takes a call; those of deployments count from 0. */
const RAMP = 2_000;

/** The deployments that the gates left, in the order they are tried: strategy, then what goes first, then health. */
export function arranged(input: DecideInput, way: Way): Kept[] {
  const { first, onTrial, affinity, settings, strategy, weights, sifted } = way;
  const { kept } = sifted;
  // Nothing to order: nobody's health is asked.
  if (kept.length < 2) {
    const reason = first?.deployment === kept[0]?.name ? first?.reason : ALONE;
    return kept.map(({ name }) => ({ deployment: name, kept: true, reason: reason ?? ALONE }));
  }
  const { facts } = input;
  const scored = strategy !== "ordered" && strategy !== "weighted";
  const known = kept.map((deployment) => ({
    deployment,
    health: input.health(deployment, scored, settings.health.windowMs),
  }));
  const key = affinityKey(affinity, facts);
  // Whose caller wants no fallback wants the first as it is written, or nothing.
  const isFixed = !settings.fallback || facts.fallback === false;
  const isPlain = strategy === "ordered" && !first && key === null && onTrial.length === 0;
  if (isPlain && (isFixed || known.every(isAtEase))) {
    return kept.map(({ name }) => ({ deployment: name, kept: true, reason: IN_ORDER }));
  }
  let order = ranked(strategy, known, { facts, settings, weights });
  if (onTrial.length > 0) order = behind(order, onTrial);
  const view: HealthView = {
    settings: settings.health,
    atMs: facts.at,
    stream: facts.stream === true,
    rampDraw: (name) => (key === null ? drawOf(facts.draw, RAMP + places(kept, name)) : returnDraw(key, name)),
  };
  order = inFront(order, way, key, view);
  return orderedByHealth(order, view).map(({ deployment, reason, score }) => ({
    deployment: deployment.name,
    kept: true,
    reason,
    ...(score !== undefined && { score }),
  }));
}

function places(kept: Way["sifted"]["kept"], name: string): number {
  return kept.findIndex((deployment) => deployment.name === name);
}

/** What is on trial is for its own conversations; the others see it when nothing else is left. */
function behind(order: Ranked[], names: readonly string[]): Ranked[] {
  const isOnTrial = ({ deployment }: Ranked): boolean => names.includes(deployment.name);
  return [
    ...order.filter((known) => !isOnTrial(known)),
    ...order.filter(isOnTrial).map((known) => ({ ...known, reason: "on trial with other conversations" })),
  ];
}

/** An arm's or a branch's deployment goes first; else the one that the session stays with. */
function inFront(order: Ranked[], { first, onTrial, weights }: Way, key: string | null, view: HealthView): Ranked[] {
  const chosen = first
    ? order.find(({ deployment }) => deployment.name === first.deployment)
    : key !== null &&
      stayingWith(
        key,
        order.filter((known) => isWell(known, view) && !onTrial.includes(known.deployment.name)),
        weights,
      );
  if (!chosen) return order;
  const reason = first?.reason ?? "the session or user stays here";
  return [{ ...chosen, reason }, ...order.filter((known) => known !== chosen)];
}
