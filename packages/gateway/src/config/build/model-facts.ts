import type { ModelCatalogue } from "../catalogue/model-catalogue.ts";
import type { DeploymentInput } from "../schema/deployments.ts";
import type { Deployment, ProviderConfig } from "../snapshot.ts";

/** How long before its end a model is warned of. */
const NOTICE_MS = 30 * 86_400_000;

/** What a deployment can do, how much it takes, and until when. */
export type ModelKnowledge = Pick<Deployment, "maxOutputTokens" | "capabilities" | "contextWindow" | "retires">;

/** What is said of a deployment's model; what is not said, the catalogue knows, or nobody does (ruling 8). */
export function knowledgeOf(
  said: Pick<DeploymentInput, "max_output" | "capabilities" | "context_window" | "retires">,
  provider: Pick<ProviderConfig, "kind" | "preset">,
  model: string,
  catalogue: ModelCatalogue,
): ModelKnowledge {
  const known = catalogue.find(provider, model);
  const capabilities = said.capabilities ?? known?.capabilities;
  const contextWindow = said.context_window ?? known?.contextWindow;
  const retires = said.retires === undefined ? known?.retires : { atMs: said.retires, announcedMs: null };
  return {
    maxOutputTokens: said.max_output ?? known?.maxOutputTokens ?? null,
    ...(capabilities && { capabilities }),
    ...(contextWindow != null && { contextWindow }),
    ...(retires && { retires }),
  };
}

/** What there is to say of a model's end, from 30 days before it; null: nothing. */
export function retirementDoubt(
  { model, retires }: Pick<Deployment, "model" | "retires">,
  nowMs: number,
): string | null {
  if (!retires || retires.atMs - nowMs > NOTICE_MS) return null;
  const day = new Date(retires.atMs).toISOString().slice(0, 10);
  if (nowMs >= retires.atMs) return `\`${model}\` retired on ${day}: calls to it may fail any time; name its successor`;
  const days = Math.ceil((retires.atMs - nowMs) / 86_400_000);
  return `\`${model}\` retires on ${day}, in ${days} ${days === 1 ? "day" : "days"}; name its successor`;
}
