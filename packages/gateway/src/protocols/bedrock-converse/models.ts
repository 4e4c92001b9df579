import { type ModelRules as ClaudeRules, rulesOf as claudeRules, claudeVersion } from "../anthropic-messages/models.ts";

/** What one family of models takes of Converse (WIRE B5, C3, C6, C7). */
export interface ModelRules {
  /** Claude's own rules; null for any other model. */
  claude: ClaudeRules | null;
  /** Where cache points may stand, and whether they may ask for an hour; null: nowhere. */
  caching: { tools: boolean; long: boolean } | null;
  /** How far a call can be demanded: of a certain tool, of any, or not at all. */
  choice: "tool" | "any" | "auto";
  /** How an answer is held to a schema: by the schema itself, by a tool that is forced, or not at all. */
  form: "schema" | "tool" | "none";
  /** How `top_k` and an effort are said in `additionalModelRequestFields`; absent: they cannot be. */
  topK?: (value: number) => Record<string, unknown>;
  effort?: (word: Effort) => Record<string, unknown>;
  /** It cannot be forced to call a tool while it thinks, and thinks unless told not to. */
  stillWhenForced?: true;
  /** It can be told to call one tool at a time. */
  single?: true;
  /** It can be asked for by a service tier. */
  tiers?: true;
}

/** The efforts that models here have in common. */
export type Effort = "low" | "medium" | "high";

/** A model nobody has described, or one behind a profile whose ARN does not name it: taken at its word. */
const UNKNOWN: ModelRules = { claude: null, caching: null, choice: "tool", form: "schema" };

const PLAIN_TOP_K = (value: number): Record<string, unknown> => ({ top_k: value });

/** By the vendor's part of the model's id. */
const FAMILIES: readonly [RegExp, ModelRules][] = [
  [
    /amazon\.nova-2/,
    {
      ...UNKNOWN,
      caching: { tools: false, long: false },
      form: "tool",
      topK: (value) => ({ inferenceConfig: { topK: value } }),
      effort: (word) => ({ reasoningConfig: { type: "enabled", maxReasoningEffort: word } }),
      tiers: true,
    },
  ],
  [
    /amazon\.nova/,
    {
      ...UNKNOWN,
      caching: { tools: false, long: false },
      form: "tool",
      topK: (value) => ({ inferenceConfig: { topK: value } }),
      tiers: true,
    },
  ],
  [/amazon\.titan/, { ...UNKNOWN, form: "none" }],
  [/openai\.gpt/, { ...UNKNOWN, effort: (word) => ({ reasoning_effort: word }), tiers: true }],
  [/qwen\./, { ...UNKNOWN, effort: (word) => ({ reasoning_config: word }), tiers: true }],
  [/deepseek\./, { ...UNKNOWN, tiers: true }],
  [/meta\./, { ...UNKNOWN, choice: "auto", form: "none" }],
  [/mistral\.mistral-large-3|mistral\.(?:magistral|ministral|voxtral)/, { ...UNKNOWN, choice: "any" }],
  [/mistral\./, { ...UNKNOWN, choice: "any", form: "none", topK: PLAIN_TOP_K }],
  [/cohere\.|ai21\.|writer\./, { ...UNKNOWN, choice: "auto", form: "none" }],
];

/** The rules for a model by its id, the id of its inference profile, or an ARN that holds one of them. */
export function rulesOf(model: string): ModelRules {
  const id = model.toLowerCase();
  if (/anthropic\.|claude/.test(id)) return claude(id);
  return FAMILIES.find(([form]) => form.test(id))?.[1] ?? UNKNOWN;
}

/** Claude's structured answers came to Bedrock with 4.5, its hour of cache too. */
function claude(id: string): ModelRules {
  const version = claudeVersion(id) ?? 2;
  const modern = version >= 4.05;
  return {
    claude: claudeRules(id),
    caching: version >= 3.05 ? { tools: true, long: modern } : null,
    choice: version >= 3 ? "tool" : "auto",
    form: modern ? "schema" : version >= 3 ? "tool" : "none",
    topK: PLAIN_TOP_K,
    ...(version >= 5 && { stillWhenForced: true }),
    ...(modern && { single: true }),
  };
}
