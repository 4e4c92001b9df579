import type { CanonicalRequest, Reasoning } from "../../core/message.ts";
import { type Exclusion, planThinking } from "../anthropic-messages/thinking.ts";
import { entryOf } from "../field-checks.ts";
import type { Conversation } from "./encode-messages.ts";
import type { Effort, ModelRules } from "./models.ts";
import type { Wire } from "./wire.ts";

/** Every word for an effort, by the three that models here have. */
const EFFORTS: Readonly<Record<string, Effort>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};
/** Budgets up to which an effort is meant (WIRE C6). */
const BUDGETS: readonly (readonly [number, Effort])[] = [
  [2_048, "low"],
  [8_192, "medium"],
];

/** How a request thinks. */
export interface Plan {
  /** For `additionalModelRequestFields`. */
  fields: Wire;
  /** The output cap, thoughts included; null: the model's own. */
  maxTokens: number | null;
  /** What was asked for found no place. */
  dropped: boolean;
}

/** What of the encoded request decides whether it may think. */
export interface Around {
  conversation: Conversation;
  /** A tool is demanded. */
  forced: boolean;
  /** A temperature or something like it is sent. */
  sampled: boolean;
  modelMax: number | null;
}

/** Thinking and the output cap, in the words of the model's own API: Converse has none (WIRE B5, C6). */
export function planReasoning(request: CanonicalRequest, rules: ModelRules, around: Around): Plan {
  const { reasoning, maxOutputTokens: asked } = request;
  const cap = asked === null ? null : Math.min(asked, around.modelMax ?? asked);
  if (rules.stillWhenForced && around.forced) {
    const wanted = reasoning !== null && reasoning.effort !== "none" && reasoning.budgetTokens !== 0;
    return { fields: { thinking: { type: "disabled" } }, maxTokens: cap, dropped: wanted };
  }
  if (!reasoning) return { fields: {}, maxTokens: cap, dropped: false };
  if (rules.claude) return claudePlan(request, rules.claude, around, cap);
  const effort = effortOf(reasoning);
  if (!rules.effort || effort === null)
    return { fields: {}, maxTokens: cap, dropped: effort !== null || isOff(reasoning) };
  return { fields: rules.effort(effort), maxTokens: cap, dropped: false };
}

function claudePlan(
  request: CanonicalRequest,
  rules: NonNullable<ModelRules["claude"]>,
  around: Around,
  cap: number | null,
): Plan {
  const plan = planThinking({ request, modelMax: around.modelMax, excluded: exclusionOf(around) }, rules);
  const { thinking, effort, maxTokens, dropped } = plan;
  return {
    fields: { ...(thinking && { thinking }), ...(effort !== undefined && { output_config: { effort } }) },
    // A budget needs a cap above it; without one the model's own is as good as any.
    maxTokens: thinking?.["budget_tokens"] === undefined ? cap : maxTokens,
    dropped,
  };
}

/**
 * With thoughts there is no temperature and no top_k; with a budget of them no forced tool either, no begun answer, and a tool
 * loop must have begun with a thought that is still there (WIRE C6).
 */
function exclusionOf({ conversation: { messages }, forced, sampled }: Around): Exclusion {
  if (sampled) return "always";
  const last = messages[messages.length - 1];
  if (forced || last?.role === "assistant") return "budget";
  if (!last?.content[0] || !("toolResult" in last.content[0])) return null;
  const called = messages.findLast((message) => message.role === "assistant");
  return called?.content[0] && "reasoningContent" in called.content[0] ? null : "budget";
}

function effortOf({ effort, budgetTokens }: Reasoning): Effort | null {
  if (effort !== null) return entryOf(EFFORTS, effort) ?? null;
  if (budgetTokens === null || budgetTokens === 0) return null;
  return BUDGETS.find(([most]) => budgetTokens <= most)?.[1] ?? "high";
}

function isOff({ effort, budgetTokens }: Reasoning): boolean {
  return effort === "none" || (effort === null && budgetTokens === 0);
}
