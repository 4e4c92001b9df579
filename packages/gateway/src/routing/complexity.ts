import type { ComplexityConfig } from "../config/snapshot.ts";
import type { RouteFacts } from "./facts.ts";

/** Which of the two branches a request takes, and what said so. */
export interface Complexity {
  verdict: "cheap" | "capable";
  because: "short" | "long" | "tools" | "classifier" | "classifier_silent" | "ambiguous";
}

/** What complexity routing looks at. */
export type Measured = Pick<RouteFacts, "operation" | "tools" | "last_message_chars" | "classifier_score">;

/**
 * How complex a request is (ROUTE-8), measured on the last message of the user's: the cheap signs first, then the classifier's
 * word where there is one. What stays ambiguous is for the capable. Null: the question makes no sense for this operation.
 */
export function complexityOf(measured: Measured, config: ComplexityConfig): Complexity | null {
  const { operation, tools = 0, last_message_chars: chars, classifier_score: score } = measured;
  if (operation !== "chat" && operation !== "completions") return null;
  if (tools > config.tools) return { verdict: "capable", because: "tools" };
  if (chars !== undefined && chars > config.longChars) return { verdict: "capable", because: "long" };
  if (chars !== undefined && chars < config.shortChars && tools === 0) return { verdict: "cheap", because: "short" };
  if (score === null) return { verdict: "capable", because: "classifier_silent" };
  if (score === undefined) return { verdict: "capable", because: "ambiguous" };
  return { verdict: score >= config.cut ? "capable" : "cheap", because: "classifier" };
}

/** The classifier to ask before the decision counts, or null: the signs are clear, it was asked already, or there is none. */
export function needsClassifier(measured: Measured, config: ComplexityConfig): ComplexityConfig["classifier"] {
  return complexityOf(measured, config)?.because === "ambiguous" ? config.classifier : null;
}
