import { LIMITS } from "../../core/limits.ts";
import type { Problems } from "../problems.ts";
import { type RouteInput, routeSchema } from "../schema/routes.ts";
import type { Route, Snapshot } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { chainOf, type Link } from "./chains.ts";
import { drop, type Entry, errorIn, warnIn } from "./entry.ts";
import { canaryOf, complexityOf, overridesOf, type RouteContext } from "./experiments.ts";

/** A route ready for use; null when nothing of its chain is left, and then it is dropped. */
export function buildRoute(
  entry: Entry<RouteInput>,
  input: RouteInput,
  context: RouteContext,
  problems: Problems,
): Route | null {
  const written = { entry, below: ["chain"], mayMove: input.pin === "latest" };
  const names = input.chain.map(({ deployment }) => deployment);
  const links = chainOf(names, written, context.find, problems);
  checkTimes(entry, input, problems);
  const weights = weightsOf(entry, input, links, problems);
  const tenantOverrides = overridesOf(entry, input, context, problems);
  const canary = canaryOf(entry, input, context, problems);
  const complexity = complexityOf(entry, input, context, problems);
  const led = new Set([...names, ...canary.map(({ deployment }) => deployment)]);
  for (const branch of complexity ? [complexity.cheap, complexity.capable] : []) led.add(branch.name);
  for (const chain of tenantOverrides.values()) if (chain.length > 1) for (const name of chain) led.add(name);
  checkApplies(entry, input, led.size > 1, problems);
  if (links.length === 0) {
    if (!problems.hasErrors()) drop(entry, "no deployment of its chain is left", problems);
    return null;
  }
  const chain = links.map(({ name }) => name);
  return {
    ...{ alias: entry.name, chain, ...settingsOf(input) },
    ...(weights && { weights }),
    ...{ tenantOverrides, canary, complexity },
  };
}

/** What holds for `provider/model` names that no route lists. */
export function rawRoute(): Snapshot["rawRoute"] {
  return settingsOf(routeSchema.parse({ chain: ["any"] }));
}

/** One weight for each deployment that is left of the chain; undefined where none are written. */
function weightsOf(
  entry: Entry<RouteInput>,
  { chain, strategy }: RouteInput,
  links: readonly Link[],
  problems: Problems,
): number[] | undefined {
  const first = chain.findIndex(({ weight }) => weight !== undefined);
  if (first === -1) return undefined;
  const missing = chain.findIndex(({ weight }) => weight === undefined);
  if (strategy !== "weighted") {
    const message = `\`weight\` has no meaning with \`strategy: ${strategy}\`; write \`strategy: weighted\``;
    errorIn(entry, ["chain", first, "weight"], message, problems);
  } else if (missing !== -1) {
    const message = `\`${chain[missing]?.deployment}\` has no \`weight\`, and others of this chain have one: give it to all or to none`;
    errorIn(entry, ["chain", missing], message, problems);
  } else if (chain.every(({ weight }) => weight === 0)) {
    errorIn(
      entry,
      ["chain"],
      "every `weight` of this chain is 0, so nothing would be chosen; give one a part",
      problems,
    );
  }
  const weights = links.map(({ index }) => chain[index]?.weight ?? 0);
  // Only those without a part are left: they share what comes.
  return weights.every((weight) => weight === 0) ? undefined : weights;
}

/** Options that only mean something beside others. */
function checkApplies(entry: Entry<RouteInput>, input: RouteInput, hasOthers: boolean, problems: Problems): void {
  if (input.latency_slo !== undefined && input.strategy !== "cheapest") {
    const message = `\`latency_slo\` has no meaning with \`strategy: ${input.strategy}\`; write \`strategy: cheapest\``;
    errorIn(entry, ["latency_slo"], message, problems);
  }
  const wants = { hedge: input.hedge !== undefined, context_fallback: input.context_fallback };
  if (!hasOthers && input.affinity !== "none") {
    const message = "`affinity` has nothing to choose from: this route leads to one deployment";
    warnIn(entry, ["affinity"], message, problems);
  }
  for (const [key, wanted] of Object.entries(wants)) {
    if (!wanted) continue;
    if (!hasOthers) {
      const message = `\`${key}\` goes to another deployment, and this route leads to one alone; add one to its chain`;
      errorIn(entry, [key], message, problems);
    } else if (!input.fallback) {
      errorIn(entry, [key], `\`${key}\` goes to another deployment, which \`fallback: false\` forbids`, problems);
    }
  }
}

function checkTimes(entry: Entry<RouteInput>, input: RouteInput, problems: Problems): void {
  const { timeouts, retries, chain, hedge, slow_stream: slow } = input;
  const { hop, total, stream_max: streamMax } = timeouts;
  if (hop !== undefined && total !== undefined && hop > total) {
    errorIn(entry, ["timeouts", "hop"], "`hop` is longer than `total`, which bounds the whole chain", problems);
  }
  const first = total ?? hop;
  if (first !== undefined && first > streamMax) {
    const key = total === undefined ? "hop" : "total";
    errorIn(
      entry,
      ["timeouts", key],
      `\`${key}\` is longer than \`stream_max\`, which bounds the whole stream`,
      problems,
    );
  }
  const hedgeMs = hedge?.after;
  const longest = hop ?? total;
  if (typeof hedgeMs === "number" && longest !== undefined && hedgeMs >= longest) {
    const message = "`after` is not shorter than the attempt's own time, so that no hedge would ever be made";
    errorIn(entry, ["hedge", "after"], message, problems);
  }
  if (slow && slow.window > streamMax) {
    const message = "`window` is longer than `stream_max`, so that no stream would ever be measured";
    errorIn(entry, ["slow_stream", "window"], message, problems);
  }
  if (retries.base > retries.cap) {
    errorIn(entry, ["retries", "base"], "`base` is longer than `cap`, the longest back-off", problems);
  }
  const calls = retries.attempts * chain.length;
  if (nodeAt(entry.node, ["retries", "attempts"]) && calls > LIMITS.attemptsMax) {
    const message = `${chain.length} deployments × ${retries.attempts} attempts are ${calls} calls; a request makes at most ${LIMITS.attemptsMax}`;
    warnIn(entry, ["retries", "attempts"], message, problems);
  }
}

function settingsOf(input: RouteInput): Snapshot["rawRoute"] {
  const { timeouts, retries, health, queue, slow_stream: slow, hedge } = input;
  return {
    fallback: input.fallback,
    timeouts: { hopMs: timeouts.hop ?? null, totalMs: timeouts.total ?? null, streamMaxMs: timeouts.stream_max },
    retries: { attempts: retries.attempts, baseMs: retries.base, capMs: retries.cap, budget: retries.budget },
    keepaliveMs: input.keepalive,
    dropUnsupported: input.drop_unsupported,
    strategy: input.strategy,
    latencySloMs: input.latency_slo ?? null,
    health: { errorCeiling: health.error_ceiling, windowMs: health.window },
    tenantOverrides: new Map(),
    canary: [],
    complexity: null,
    slowStream: slow ? { tokensPerSecond: slow.tokens_per_second, windowMs: slow.window, abort: slow.abort } : null,
    hedge: hedge ? { after: hedge.after, maxExtra: hedge.max_extra } : null,
    whenAllOpen: input.when_all_open,
    whenAllCooling: input.when_all_cooling,
    contextFallback: input.context_fallback,
    affinity: input.affinity,
    queue: { maxWaitMs: queue.max_wait, maxDepth: queue.max_depth, on: [...new Set(queue.on)] },
  };
}
