import type { ModelCatalogue, RetirementDay } from "../config/catalogue/model-catalogue.ts";
import type { Deployment, Snapshot } from "../config/snapshot.ts";
import type { Capability } from "../core/call.ts";
import type { Price } from "../core/money.ts";
import { priceAt } from "../core/price.ts";
import { entryPrice } from "../ledger/price-book.ts";

/** One model as `sluicegate models` shows it; null: not known. */
export interface ModelRow {
  /** Null in a listing of the catalogue. */
  deployment: string | null;
  provider: string | null;
  model: string;
  aliases: string[];
  context_window: number | null;
  max_output: number | null;
  capabilities: readonly Capability[] | null;
  modalities: { input: string[]; output: string[] } | null;
  /** USD per million tokens. */
  price: { input: number; cached_input: number; output: number; source: string } | null;
  /** A day. */
  retires: string | null;
  /** `catalogue`, or `none` where it does not know the model; `config` in front where the config says some of it. */
  source: string;
  /** What the catalogue's facts are from. */
  sources: readonly { url: string; read: string }[];
}

/** The deployments of a config, what is said of them over what is known. */
export function deploymentRows(snapshot: Snapshot, nowMs: number): ModelRow[] {
  const routes = [...snapshot.routes.values()];
  return [...snapshot.deployments.values()].map((deployment) => {
    const provider = snapshot.providers.get(deployment.provider);
    const known = provider ? snapshot.models.find(provider, deployment.model) : null;
    const said = saysMore(deployment, known);
    return {
      deployment: deployment.name,
      provider: deployment.provider,
      model: deployment.model,
      aliases: routes.filter(({ chain }) => chain.includes(deployment.name)).map(({ alias }) => alias),
      context_window: deployment.contextWindow ?? null,
      max_output: deployment.maxOutputTokens,
      capabilities: deployment.capabilities ?? null,
      modalities: known?.modalities ?? null,
      price: priceOf(priceAt(deployment.prices, nowMs)),
      retires: dayOf(deployment.retires ?? null),
      source: [...(said ? ["config"] : []), ...(known ? ["catalogue"] : said ? [] : ["none"])].join(" + "),
      sources: known?.sources ?? [],
    };
  });
}

/** Everything in the catalogue, with its makers' prices. */
export function catalogueRows(models: ModelCatalogue, nowMs: number): ModelRow[] {
  return models.list().map((facts) => {
    const maker = facts.book?.slice(0, facts.book.indexOf("/")) ?? null;
    const plain = !facts.id.endsWith("*");
    return {
      deployment: null,
      provider: maker,
      model: facts.id,
      aliases: [],
      context_window: facts.contextWindow,
      max_output: facts.maxOutputTokens,
      capabilities: facts.capabilities,
      modalities: facts.modalities ?? null,
      price: maker !== null && plain ? priceOf(entryPrice(`${maker}/${facts.id}`, nowMs)) : null,
      retires: dayOf(facts.retires),
      source: "catalogue",
      sources: facts.sources,
    };
  });
}

function saysMore(deployment: Deployment, known: ReturnType<ModelCatalogue["find"]>): boolean {
  return (
    (deployment.contextWindow ?? null) !== (known?.contextWindow ?? null) ||
    deployment.maxOutputTokens !== (known?.maxOutputTokens ?? null) ||
    (deployment.retires?.atMs ?? null) !== (known?.retires?.atMs ?? null) ||
    JSON.stringify(deployment.capabilities ?? null) !== JSON.stringify(known?.capabilities ?? null)
  );
}

function priceOf(price: Price | null): ModelRow["price"] {
  if (!price) return null;
  const usd = (nano: number): number => nano / 1e9;
  return {
    input: usd(price.input),
    cached_input: usd(price.cachedInput),
    output: usd(price.output),
    source: price.source,
  };
}

function dayOf(retires: RetirementDay | null): string | null {
  return retires && new Date(retires.atMs).toISOString().slice(0, 10);
}
