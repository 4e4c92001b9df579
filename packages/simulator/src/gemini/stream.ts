import { spread } from "../delivery/spread.ts";
import type { Plan } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import type { Stamp, Step } from "../wire.ts";
import {
  argsOf,
  blockedJson,
  type CallOnly,
  type CallPlace,
  callPart,
  contentJson,
  finishJson,
  lastPart,
  type Manner,
  tailJson,
  textPart,
} from "./answer.ts";
import { partialCalls } from "./partial-args.ts";
import { usageMetadata } from "./usage.ts";

/** A part such as no client knows yet. */
const ODD_PART = '{"oddPart":{"some":"thing"}}';

/** One chunk of one candidate before it is written: its parts as JSON. */
interface Sketch extends Step {
  readonly candidate: number;
}

/** The answer as chunks, each a whole response with new parts and the usage so far; the last says why it ends. */
export function generateSteps(plan: Plan, stamp: Stamp, manner: Manner): Step[] {
  const usage = plan.reportsUsage ? usageMetadata(plan.usage) : null;
  if (plan.blocked !== null) {
    return [{ kind: "finish", data: blockedJson(plan, stamp, usage), reportsUsage: plan.reportsUsage }];
  }
  const sketches = Array.from({ length: plan.choices }, (_, candidate) => sketchesOf(plan, stamp, manner, candidate));
  const ends = sketches.map((list, candidate) => endOf(list, candidate, plan));
  const ordered = interleaved(sketches);
  const finish = finishJson(plan);
  const steps = spread([...ordered, ...ends], plan.usage).map(({ step, output, reasoning }, i, all): Step => {
    const { kind, data, thinking, candidate } = step as Sketch;
    const ended = kind === "finish" ? `${finish},` : "";
    const figures = plan.reportsUsage ? usageMetadata({ ...plan.usage, output, reasoning }) : null;
    const content = `{${contentJson(kind === "finish", [data], plan)}${ended}"index":${candidate}}`;
    return {
      kind,
      data: `{"candidates":[${content}]${tailJson(stamp, figures)}}`,
      ...(thinking === true && { thinking }),
      ...(i === all.length - 1 && { reportsUsage: plan.reportsUsage }),
    };
  });
  const early = plan.settings.quirk?.has("empty_choices") === true;
  const bare: Step = { kind: "open", data: `{${tailJson(stamp, '{"trafficType":"ON_DEMAND"}').slice(1)}}` };
  return early ? [bare, ...steps] : steps;
}

/** The last chunk of a candidate; with `merged_finish` it is the last that says something. */
function endOf(list: Sketch[], candidate: number, { settings, ...plan }: Plan): Sketch {
  const last = settings.quirk?.has("merged_finish") === true ? list.pop() : undefined;
  return { kind: "finish", data: last?.data ?? lastPart({ ...plan, settings }), candidate };
}

function sketchesOf(plan: Plan, stamp: Stamp, manner: Manner, candidate: number): Sketch[] {
  const { shown, partialArgs } = manner;
  const sketches: Sketch[] = opened(plan) ? [{ kind: "open", data: '{"text":""}', candidate }] : [];
  if (plan.settings.quirk?.has("odd_events") === true) sketches.push({ kind: "open", data: ODD_PART, candidate });
  let calls = 0;
  for (const part of plan.parts) {
    if (part.kind === "call") {
      const place = { candidate, index: calls };
      calls += 1;
      if (partialArgs) sketches.push(...inPieces(part, place, plan, stamp));
      else sketches.push({ kind: "delta", data: callPart(part, place, plan, stamp, argsOf(part.text)), candidate });
    } else if (part.kind === "text") {
      for (const piece of piecesOf(part)) sketches.push({ kind: "delta", data: textPart(piece, false), candidate });
    } else if (part.kind === "reasoning" && shown) {
      for (const piece of piecesOf(part)) {
        sketches.push({ kind: "delta", data: textPart(piece, true), thinking: true, candidate });
      }
    }
  }
  return sketches;
}

/** Something without output goes first where the answer is to open before it speaks. */
function opened({ settings, fault }: Plan): boolean {
  return settings.preamble !== undefined || (fault !== null && "openings" in fault && fault.openings !== undefined);
}

function inPieces(part: CallOnly, place: CallPlace, plan: Plan, stamp: Stamp): Sketch[] {
  const { candidate } = place;
  const steps = partialCalls(part.text).map(
    (call): Sketch => ({ kind: "delta", data: `{"functionCall":${call}}`, candidate }),
  );
  const first: Sketch = { kind: "open", data: callPart(part, place, plan, stamp, null), candidate };
  const last: Sketch = { kind: steps.length === 0 ? "delta" : "open", data: '{"functionCall":{}}', candidate };
  return [first, ...steps, last];
}

function interleaved(lists: readonly (readonly Sketch[])[]): Sketch[] {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}
