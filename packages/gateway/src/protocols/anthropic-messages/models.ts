/** What one generation of Claude takes and refuses (WIRE A3.6). */
export interface ModelRules {
  /** How it is asked to think: not at all, with a budget of tokens, or with an effort. */
  thinking: "none" | "budget" | "adaptive";
  /** It can be told not to think. */
  canBeStill: boolean;
  /** Efforts it knows, ascending; empty where it takes a budget. */
  efforts: readonly string[];
  /** `one`: temperature or top_p, not both; `fixed`: neither, and no top_k. */
  sampling: "free" | "one" | "fixed";
  /** The conversation may end with the beginning of the answer. */
  prefill: boolean;
  /** Thoughts are only shown to who asks for it. */
  hidesThoughts: boolean;
  /** It takes a JSON schema for its answer and strict tools. */
  structured: boolean;
}

const EFFORTS = ["low", "medium", "high", "max"] as const;
const ALL_EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

/** A model that is no Claude, behind a server that speaks the protocol: taken at its word. Its `capabilities` say what it lacks. */
const UNKNOWN: ModelRules = {
  thinking: "budget",
  canBeStill: true,
  efforts: [],
  sampling: "free",
  prefill: true,
  hidesThoughts: false,
  structured: true,
};

const FORM = /claude-(?:([a-z]+)-)?(\d+)(?:[-.](\d{1,2}))?(?!\d)/;

/** Generation of a Claude by its name, in any vendor's spelling: 3.07 for 3.7, 4.05 for 4.5; null: no Claude that has one. */
export function claudeVersion(model: string): number | null {
  const [, , major, minor] = FORM.exec(model.toLowerCase()) ?? [];
  return major === undefined ? null : Number(major) + Number(minor ?? 0) / 100;
}

/** The rules for a model by its name, in any vendor's spelling. A Claude newer than this table is held to its newest row. */
export function rulesOf(model: string): ModelRules {
  const version = claudeVersion(model);
  if (version === null) return UNKNOWN;
  const family = FORM.exec(model.toLowerCase())?.[1];
  if (version < 4) {
    const thinks = version >= 3.07;
    return { ...UNKNOWN, thinking: thinks ? "budget" : "none", structured: false };
  }
  if (version < 4.06) return { ...UNKNOWN, sampling: "one", structured: version >= 4.01 };
  if (version < 4.07) {
    return { ...UNKNOWN, thinking: "adaptive", efforts: EFFORTS, sampling: "one", prefill: false };
  }
  return {
    thinking: "adaptive",
    canBeStill: version < 5 || family === "sonnet",
    efforts: ALL_EFFORTS,
    sampling: "fixed",
    prefill: false,
    hidesThoughts: true,
    structured: true,
  };
}
