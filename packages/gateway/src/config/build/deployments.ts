import { type DatedPrice, priceAt } from "../../core/price.ts";
import type { ModelCatalogue } from "../catalogue/model-catalogue.ts";
import { KINDS } from "../kinds.ts";
import { presetNamed } from "../presets.ts";
import { type BookPrice, datedPrices } from "../price.ts";
import type { Path, Problems } from "../problems.ts";
import {
  breakerSchema,
  type DeploymentInput,
  deploymentTimeoutsSchema,
  type PriceInput,
} from "../schema/deployments.ts";
import type { Deployment, ProviderConfig } from "../snapshot.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";
import { isFloating } from "./floating-model.ts";
import { knowledgeOf, retirementDoubt } from "./model-facts.ts";

/** What pricing and describing a deployment takes. */
export interface PriceContext {
  bookPrice: BookPrice;
  /** What is known of models by their names. */
  models: ModelCatalogue;
  nowMs: number;
}

/** How names that may move are taken. */
export interface PinRule {
  /** `gateway.strict_pins`: such a name is refused. */
  strict: boolean;
  /** `pin: latest` on every route that leads to the deployment: such a name is meant. */
  aloud: boolean;
}

/** How far a price may be off the book before it is doubted. */
const ODD_FACTOR = 5;

/** Timeouts of a deployment that sets none. */
export function defaultTimeouts(): Deployment["timeouts"] {
  return timeoutsOf(deploymentTimeoutsSchema.parse({}));
}

/** When one that sets nothing is taken for broken. */
export function defaultBreaker(): Deployment["breaker"] {
  return breakerOf(breakerSchema.parse({}));
}

/** A deployment that the config declares. */
export function buildDeployment(
  entry: Entry<DeploymentInput>,
  input: DeploymentInput,
  provider: ProviderConfig,
  context: PriceContext,
  pin: PinRule,
  problems: Problems,
): Deployment {
  const written = input.price === undefined ? null : [input.price].flat();
  if (written) checkPrices(entry, written, Array.isArray(input.price), problems);
  checkKind(entry, input, provider, problems);
  const deployment = {
    name: entry.name,
    provider: provider.name,
    model: input.model,
    ...(input.azure_deployment !== undefined && { sentAs: input.azure_deployment }),
    region: input.region ?? null,
    capacity: input.capacity ?? defaultCapacity(provider),
    timeouts: timeoutsOf(input.timeouts),
    api: input.api ?? null,
    ...(input.expected_latency !== undefined && { expectedLatencyMs: input.expected_latency }),
    breaker: breakerOf(input.breaker),
    ...knowledgeOf(input, provider, input.model, context.models),
    prices: pricesOf(written, provider, input.model, context),
  };
  const warn = (below: Path, message: string): void => warnIn(entry, below, message, problems);
  if (input.max_output !== undefined && input.max_output > (input.context_window ?? Number.POSITIVE_INFINITY)) {
    errorIn(
      entry,
      ["max_output"],
      "`max_output` is larger than `context_window`, which holds input and output",
      problems,
    );
  }
  tellFloating(entry, ["model"], input.model, provider, pin, problems);
  const ending = retirementDoubt(deployment, context.nowMs);
  if (ending !== null) warn(input.retires === undefined ? ["model"] : ["retires"], ending);
  if (written) warnOddPrice(written, provider, input.model, context, warn);
  if (lacksPrice(deployment, provider, context.nowMs)) warn([], noPriceMessage(deployment.model));
  return deployment;
}

/** What only some kinds have, and what some of them cannot. */
function checkKind(
  entry: Entry<DeploymentInput>,
  input: DeploymentInput,
  provider: ProviderConfig,
  problems: Problems,
): void {
  const facts = KINDS[provider.kind];
  if (input.azure_deployment !== undefined && !facts.namesDeployments) {
    const message = `\`azure_deployment\` has no meaning for kind ${provider.kind}, only for azure-openai`;
    errorIn(entry, ["azure_deployment"], message, problems);
  }
  const apis = facts.apis(provider, input.model);
  if (input.api !== undefined && !apis.includes(input.api)) {
    const whose = provider.preset === null ? `kind ${provider.kind}` : `preset ${provider.preset}`;
    const known = apis.length === 0 ? "it has one of its own; leave `api` out" : `it has ${apis.join(" and ")}`;
    errorIn(entry, ["api"], `\`${input.api}\` is no API of ${whose} for \`${input.model}\`: ${known}`, problems);
  }
  const fault = facts.modelFault?.(input.model) ?? null;
  if (fault !== null) errorIn(entry, ["model"], `\`${input.model}\` ${fault}`, problems);
}

/** The deployment that `provider/model` stands for. */
export function impliedDeployment(provider: ProviderConfig, model: string, context: PriceContext): Deployment {
  return {
    name: `${provider.name}/${model}`,
    provider: provider.name,
    model,
    region: null,
    capacity: defaultCapacity(provider),
    timeouts: defaultTimeouts(),
    api: null,
    breaker: defaultBreaker(),
    ...knowledgeOf({}, provider, model, context.models),
    prices: pricesOf(null, provider, model, context),
  };
}

/** What is doubtful about a deployment that `provider/model` stands for. */
export function impliedDoubts(deployment: Deployment, provider: ProviderConfig, nowMs: number): string[] {
  const doubts: string[] = [];
  const ending = retirementDoubt(deployment, nowMs);
  if (ending !== null) doubts.push(ending);
  if (lacksPrice(deployment, provider, nowMs)) doubts.push(noPriceMessage(deployment.model));
  return doubts;
}

/** A name behind which the vendor may put another model one day: warned of, or refused, unless it is meant (ruling 9). */
export function tellFloating(
  entry: Entry<unknown>,
  below: Path,
  model: string,
  provider: ProviderConfig,
  { strict, aloud }: PinRule,
  problems: Problems,
): void {
  if (aloud || !isFloating(model, provider)) return;
  const what = `\`${model}\` is a floating model name: the vendor may put another model behind it`;
  if (!strict) return warnIn(entry, below, `${what}; name a dated one`, problems);
  const message = `${what}, which \`strict_pins\` refuses; name a dated one, or say \`pin: latest\` on its routes`;
  errorIn(entry, below, message, problems);
}

function noPriceMessage(model: string): string {
  return `no price is known for \`${model}\` today: its cost will be recorded as unknown; give the deployment a \`price\``;
}

function defaultCapacity(provider: ProviderConfig): Deployment["capacity"] {
  return presetNamed(provider.preset ?? "")?.selfHosted ? "self_hosted" : "payg";
}

/** Own hardware and the simulator bill nobody, so a missing price there is nothing to warn of. */
function lacksPrice(deployment: Deployment, provider: ProviderConfig, nowMs: number): boolean {
  if (deployment.capacity === "self_hosted" || provider.kind === "simulator") return false;
  return priceAt(deployment.prices, nowMs) === null;
}

/** Prices of the config; until the first of them begins, the book's. */
function pricesOf(
  written: PriceInput[] | null,
  provider: ProviderConfig,
  model: string,
  context: PriceContext,
): DatedPrice[] {
  const own = datedPrices(written ?? []);
  const firstMs = own[0]?.fromMs ?? Number.POSITIVE_INFINITY;
  const book = firstMs <= 0 ? [] : context.bookPrice(provider.kind, provider.preset, model);
  return [...book.filter((dated) => dated.fromMs < firstMs), ...own];
}

function checkPrices(entry: Entry<unknown>, prices: PriceInput[], isList: boolean, problems: Problems): void {
  const from = new Set<number>();
  for (const [i, price] of prices.entries()) {
    const below = isList ? ["price", i] : ["price"];
    const fromMs = price.from ?? 0;
    if (from.has(fromMs)) {
      const which = price.from === undefined ? "a second price without `from`" : "a second price from the same day";
      errorIn(entry, price.from === undefined ? below : [...below, "from"], which, problems);
    }
    from.add(fromMs);
    const above = new Set<number>();
    for (const [k, tier] of (price.tiers ?? []).entries()) {
      if (above.has(tier.above)) {
        errorIn(entry, [...below, "tiers", k, "above"], `a second tier above ${tier.above}`, problems);
      }
      above.add(tier.above);
      if (Object.values(tier).filter((value) => value !== undefined).length === 1) {
        errorIn(entry, [...below, "tiers", k], "this tier changes no price", problems);
      }
    }
  }
}

function warnOddPrice(
  written: PriceInput[],
  provider: ProviderConfig,
  model: string,
  context: PriceContext,
  warn: (below: Path, message: string) => void,
): void {
  const own = priceAt(datedPrices(written), context.nowMs);
  const book = priceAt(context.bookPrice(provider.kind, provider.preset, model), context.nowMs);
  if (!own || !book) return;
  for (const part of ["input", "output"] as const) {
    const [high, low] = [Math.max(own[part], book[part]), Math.min(own[part], book[part])];
    if (own[part] === 0 || high <= low * ODD_FACTOR) continue;
    const bookUsd = book[part] / 1e9;
    warn(
      ["price"],
      `the ${part} price is more than ${ODD_FACTOR} × off the price book, which has ${bookUsd} USD per million`,
    );
  }
}

function timeoutsOf(input: DeploymentInput["timeouts"]): Deployment["timeouts"] {
  return { connectMs: input.connect, firstTokenMs: input.first_token ?? null, idleMs: input.idle };
}

function breakerOf(input: DeploymentInput["breaker"]): Deployment["breaker"] {
  return {
    consecutive: input.consecutive,
    errorRate: input.error_rate,
    minRequests: input.min_requests,
    windowMs: input.window,
    latencyFactor: input.latency_factor,
    recoveryMs: input.recovery,
    probes: input.probes,
  };
}
