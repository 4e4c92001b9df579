import type { Reasoning } from "../../core/message.ts";
import { entryOf, type Fields } from "../field-checks.ts";

/** What a model's name tells of what it takes. */
export interface ModelTraits {
  /** Thoughts are asked for by a budget of tokens (2.5), by a level (3 and later), not at all, or nobody knows. */
  thinking: "budget" | "level" | "none" | "unknown";
  /** Tools and a response format may be asked for at once, and tools may answer with pictures (3 and later). */
  modern: boolean;
  /** A call in the history without a thought signature is refused (3 and later). */
  wantsSignatures: boolean;
  pro: boolean;
  lite: boolean;
}

/** A model by name. One that is not Google's (a simulator's, a proxy's) is taken to know everything. */
export function modelTraits(model: string): ModelTraits {
  const [, number] = /gemini-(\d+(?:\.\d+)?)/.exec(model) ?? [];
  const floating = /gemini-(?:pro|flash|flash-lite)-latest/.test(model);
  const pro = /\bpro\b/.test(model);
  const lite = /\blite\b/.test(model);
  if (/^(?:models\/)?(?:gemma|learnlm)/.test(model)) {
    return { thinking: "none", modern: false, wantsSignatures: false, pro, lite };
  }
  if (number === undefined && !floating)
    return { thinking: "unknown", modern: true, wantsSignatures: false, pro, lite };
  const version = number === undefined ? 3 : Number(number);
  const thinking = version >= 3 ? "level" : version >= 2.5 ? "budget" : "none";
  return { thinking, modern: version >= 3, wantsSignatures: version >= 3, pro, lite };
}

/** Google's own table for the words of others (WIRE C6). */
const BUDGETS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 512,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};
const LEVELS: Readonly<Record<string, string>> = {
  none: "MINIMAL",
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

/** `thinkingConfig` for a model; null where nothing of the wish can be said to it. Never both a budget and a level. */
export function thinkingConfig(reasoning: Reasoning, traits: ModelTraits): Fields | null {
  const { effort, budgetTokens, visible } = reasoning;
  if (traits.thinking === "none") return null;
  const wish: Fields = {};
  const byLevel = traits.thinking === "level" || (traits.thinking === "unknown" && budgetTokens === null);
  if (effort !== null || budgetTokens !== null) {
    if (byLevel) wish["thinkingLevel"] = levelOf(effort, budgetTokens, traits);
    else wish["thinkingBudget"] = budgetOf(effort, budgetTokens, traits);
  }
  if (visible !== null) wish["includeThoughts"] = visible;
  return Object.keys(wish).length > 0 ? wish : null;
}

function levelOf(effort: string | null, budget: number | null, { thinking, pro }: ModelTraits): string {
  const level = entryOf(LEVELS, effort ?? effortOf(budget ?? 0)) ?? "HIGH";
  // Pro models always think, and refuse the level below low.
  return level === "MINIMAL" && pro && thinking === "level" ? "LOW" : level;
}

function effortOf(budget: number): string {
  if (budget === 0) return "none";
  if (budget <= 2_048) return "low";
  return budget <= 8_192 ? "medium" : "high";
}

/** Within what the model takes: Pro 128 to 32,768, Flash up to 24,576, Flash-Lite from 512, 0 (off) where it can be. */
function budgetOf(effort: string | null, budget: number | null, { thinking, pro, lite }: ModelTraits): number {
  const wanted = budget ?? entryOf(BUDGETS, effort ?? "medium") ?? 24_576;
  if (thinking === "unknown") return wanted;
  if (wanted === 0 && !pro) return 0;
  return Math.min(Math.max(wanted, pro ? 128 : lite ? 512 : 1), pro ? 32_768 : 24_576);
}
