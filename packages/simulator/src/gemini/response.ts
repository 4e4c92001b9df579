import type { Plan } from "../models/plan.ts";
import { sign } from "../signature.ts";
import type { Stamp } from "../wire.ts";
import { argsOf, blockedJson, callPart, contentJson, finishJson, type Manner, tailJson, textPart } from "./answer.ts";
import { usageMetadata } from "./usage.ts";

/** The whole answer as one GenerateContentResponse. */
export function generateJson(plan: Plan, stamp: Stamp, manner: Manner): string {
  const usage = plan.reportsUsage ? usageMetadata(plan.usage) : null;
  if (plan.blocked !== null) return blockedJson(plan, stamp, usage);
  const candidates = Array.from({ length: plan.choices }, (_, index) => {
    const parts = partsOf(plan, stamp, manner, index);
    return `{${contentJson(true, parts, plan)}${finishJson(plan)},"index":${index}}`;
  });
  return `{"candidates":[${candidates.join(",")}]${tailJson(stamp, usage)}}`;
}

function partsOf(plan: Plan, stamp: Stamp, { shown }: Manner, candidate: number): string[] {
  const thought = plan.parts.some((part) => part.kind === "reasoning");
  const unsigned = !thought || plan.settings.quirk?.has("no_signature") === true;
  const parts: string[] = [];
  let calls = 0;
  for (const part of plan.parts) {
    if (part.kind === "call") {
      parts.push(callPart(part, { candidate, index: calls }, plan, stamp, argsOf(part.text)));
      calls += 1;
    } else if (part.kind === "text") {
      const text = textPart(part.text, false);
      parts.push(unsigned ? text : `${text.slice(0, -1)},"thoughtSignature":"${sign("answer")}"}`);
    } else if (part.kind === "reasoning" && shown) parts.push(textPart(part.text, true));
  }
  return parts;
}
