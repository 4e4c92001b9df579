import { isObject } from "../json.ts";
import type { Step, WireRequest } from "../wire.ts";

const SAFE = { filtered: false, severity: "safe" };

/** What the filters say of a prompt; `violent`: one of them has hit. */
export function promptResult(violent: boolean): unknown {
  const jailbreak = { filtered: false, detected: false };
  const violence = violent ? { filtered: true, severity: "medium" } : SAFE;
  return { hate: SAFE, jailbreak, self_harm: SAFE, sexual: SAFE, violence };
}

const OF_ANSWER = { hate: SAFE, self_harm: SAFE, sexual: SAFE, violence: SAFE };
const OF_PROMPT = [{ prompt_index: 0, content_filter_results: promptResult(false) }];
/** Before anything of the answer: no choices, no id, no model. */
const FIRST: Step = {
  kind: "open",
  data: JSON.stringify({ choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: OF_PROMPT }),
};

/** A chat answer with what Azure's filters found in prompt and answer: nothing. */
export function filtered(request: WireRequest): WireRequest {
  return {
    ...request,
    json(plan, stamp) {
      const body = request.json(plan, stamp);
      const answer: unknown = typeof body === "string" ? JSON.parse(body) : null;
      if (!isObject(answer)) return body;
      return JSON.stringify({ ...marked(answer), prompt_filter_results: OF_PROMPT });
    },
    steps: (plan, stamp) => [FIRST, ...request.steps(plan, stamp).map(markedStep)],
  };
}

function markedStep(step: Step): Step {
  if (step.kind !== "delta" && step.kind !== "finish") return step;
  const chunk: unknown = JSON.parse(step.data);
  return isObject(chunk) ? { ...step, data: JSON.stringify(marked(chunk)) } : step;
}

function marked(answer: Readonly<Record<string, unknown>>): object {
  if (!Array.isArray(answer.choices)) return answer;
  const choices = answer.choices.map((choice: unknown) =>
    isObject(choice) ? { content_filter_results: speaks(choice) ? OF_ANSWER : {}, ...choice } : choice,
  );
  return { ...answer, choices };
}

/** Only text is looked at, not calls. */
function speaks({ message, delta }: Readonly<Record<string, unknown>>): boolean {
  const said = message ?? delta;
  return isObject(said) && typeof said.content === "string" && said.content !== "";
}
