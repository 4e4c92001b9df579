import type { CanonicalRequest, Reasoning } from "../../core/message.ts";
import { entryOf } from "../field-checks.ts";
import type { ModelRules } from "./models.ts";
import type { Wire } from "./wire.ts";

/** What an answer may cost in tokens where nobody knows what the model can write (WIRE C8). */
const CAP_DEFAULT = 8_192;
/** Anthropic takes no smaller budget. */
const BUDGET_MIN = 1_024;
/** Share of the output cap that an effort may spend on thoughts (WIRE C6). */
const SHARES: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
/** Budgets up to which an effort is meant (WIRE C6). */
const BUDGETS: readonly (readonly [number, string])[] = [
  [2_048, "low"],
  [8_192, "medium"],
  [24_576, "high"],
];

/** How a request thinks. */
export interface Thinking {
  thinking?: Wire;
  effort?: string;
  /** The output cap, thoughts included. */
  maxTokens: number;
  /** What was asked for found no place. */
  dropped: boolean;
}

/** What of the request decides whether it may think. */
export interface Asked {
  request: CanonicalRequest;
  /** The most the model can write; null: not known. */
  modelMax: number | null;
  excluded: Exclusion;
}

/**
 * Something that changes the answer, and so comes first, does not go with thoughts: with none at all (`always`), or with
 * none that have a budget (`budget`).
 */
export type Exclusion = "always" | "budget" | null;

/** Thinking and the output cap, which holds the thoughts too. A cap of the client's own is kept. */
export function planThinking({ request, modelMax, excluded }: Asked, rules: ModelRules): Thinking {
  const asked = request.maxOutputTokens;
  // No model writes more than it can: a larger cap asks for nothing else.
  const maxTokens = asked === null ? (modelMax ?? CAP_DEFAULT) : Math.min(asked, modelMax ?? asked);
  const { reasoning } = request;
  if (!reasoning) return { maxTokens, dropped: false };
  if (isOff(reasoning)) return still(rules, maxTokens);
  if (rules.thinking === "none") return { maxTokens, dropped: true };
  if (rules.thinking === "adaptive") {
    const plan = adaptive(reasoning, rules, maxTokens);
    if (excluded !== "always") return plan;
    // An effort alone holds for the words of the answer too.
    const { thinking: _, ...effortOnly } = plan;
    return { ...effortOnly, dropped: true };
  }
  if (excluded) return { maxTokens, dropped: true };
  return budgeted(reasoning, maxTokens, asked === null && modelMax === null);
}

function isOff({ effort, budgetTokens }: Reasoning): boolean {
  return effort === "none" || (effort === null && budgetTokens === 0);
}

function still(rules: ModelRules, maxTokens: number): Thinking {
  // A model before there was thinking is always still.
  if (rules.thinking === "none") return { maxTokens, dropped: false };
  if (rules.canBeStill) return { thinking: { type: "disabled" }, maxTokens, dropped: false };
  return { effort: "low", maxTokens, dropped: true };
}

function adaptive(reasoning: Reasoning, rules: ModelRules, maxTokens: number): Thinking {
  const { effort: asked, budgetTokens, visible } = reasoning;
  const wanted = asked ?? (budgetTokens === null ? null : effortOf(budgetTokens));
  const effort = wanted === null ? null : nearest(wanted, rules.efforts);
  const display = visible === false ? "omitted" : visible === true || rules.hidesThoughts ? "summarized" : null;
  return {
    thinking: { type: "adaptive", ...(display && { display }) },
    ...(effort !== null && { effort }),
    maxTokens,
    dropped: wanted !== null && effort === null,
  };
}

function budgeted(reasoning: Reasoning, cap: number, free: boolean): Thinking {
  const { effort, budgetTokens, visible } = reasoning;
  const share = entryOf(SHARES, effort ?? "medium");
  const wanted = budgetTokens !== null && budgetTokens > 0 ? budgetTokens : Math.floor(cap * (share ?? 0.5));
  // A cap that nobody asked for makes room for the budget.
  const maxTokens = free && wanted >= cap ? wanted + cap : cap;
  if (maxTokens <= BUDGET_MIN) return { maxTokens, dropped: true };
  const budget = Math.max(BUDGET_MIN, Math.min(wanted, maxTokens - 1));
  return {
    thinking: { type: "enabled", budget_tokens: budget, ...(visible === false && { display: "omitted" }) },
    maxTokens,
    dropped: share === undefined,
  };
}

function effortOf(budget: number): string {
  return BUDGETS.find(([most]) => budget <= most)?.[1] ?? "xhigh";
}

/** The nearest effort a model knows, rather a lower one than a higher; null for a word nobody knows. */
function nearest(effort: string, known: readonly string[]): string | null {
  if (known.includes(effort)) return effort;
  const order = Object.keys(SHARES);
  const at = order.indexOf(effort);
  if (at === -1) return null;
  const lower = order
    .slice(0, at)
    .reverse()
    .find((word) => known.includes(word));
  return lower ?? known[0] ?? null;
}
