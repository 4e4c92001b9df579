import type { Usage } from "../models/plan.ts";
import type { Step } from "../wire.ts";

/** An event with the output that is billed once it has been generated, reasoning included in it. */
export interface Moment {
  readonly step: Step;
  readonly output: number;
  readonly reasoning: number;
}

/**
 * Spreads the billed output evenly over the deltas of a stream: reasoning over those that carry it, or all of
 * it before the first delta when it stays hidden. From the event that finishes the answer on it is exact.
 */
export function spread(steps: readonly Step[], usage: Usage): Moment[] {
  let thinking = 0;
  let speaking = 0;
  for (const step of steps) {
    if (step.kind !== "delta") continue;
    if (step.thinking === true) thinking += 1;
    else speaking += 1;
  }
  const visible = Math.max(0, usage.output - usage.reasoning);
  let thought = 0;
  let spoken = 0;
  let output = 0;
  let reasoning = 0;
  return steps.map((step) => {
    if (step.kind === "delta") {
      if (step.thinking === true) thought += 1;
      else spoken += 1;
      reasoning = thinking === 0 ? usage.reasoning : Math.floor((usage.reasoning * thought) / thinking);
      output = reasoning + (speaking === 0 ? 0 : Math.floor((visible * spoken) / speaking));
    } else if (step.kind !== "open") {
      ({ output, reasoning } = usage);
    }
    return { step, output, reasoning };
  });
}
