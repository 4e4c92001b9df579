import type { Part, Plan, Usage } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import type { Stamp, Step } from "../wire.ts";

/** Tokens of Cohere's own words around a prompt: counted, mostly cached, and not billed. */
const PREAMBLE_TOKENS = 1_400;
const PREAMBLE_CACHED = 1_344;

/** The whole answer as one object. Beside calls, text is their plan. */
export function chatJson(plan: Plan, stamp: Stamp): string {
  const content = plan.parts.flatMap((part) => contentOf(part, plan) ?? []);
  const calls = plan.parts.filter((part) => part.kind === "call");
  const told = {
    role: "assistant",
    ...(content.length > 0 && { content }),
    ...(calls.length > 0 && {
      tool_plan: planText(plan),
      tool_calls: calls.map((part, i) => callOf(part, stamp, i, part.text)),
    }),
  };
  return JSON.stringify({
    id: idOf(stamp),
    message: told,
    finish_reason: finishReason(plan),
    ...(plan.reportsUsage && { usage: usageOf(plan.usage) }),
  });
}

/** The answer as events. */
export function chatSteps(plan: Plan, stamp: Stamp): Step[] {
  const steps: Step[] = [];
  const add = (kind: Step["kind"], type: string, rest: object, thinking = false): void => {
    const data = JSON.stringify({ type, ...rest });
    steps.push(thinking ? { kind, data, event: type, thinking } : { kind, data, event: type });
  };
  const opening = { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] };
  add("open", "message-start", { id: idOf(stamp), delta: { message: opening } });
  let [block, call] = [0, 0];
  for (const part of plan.parts) {
    if (part.kind === "call") addCall(part, stamp, call++, add);
    else if (isPlan(part, plan)) {
      for (const piece of piecesOf(part)) add("delta", "tool-plan-delta", { delta: { message: { tool_plan: piece } } });
    } else addContent(part, block++, add);
  }
  const usage = plan.reportsUsage ? { usage: usageOf(plan.usage) } : {};
  add("finish", "message-end", { delta: { finish_reason: finishReason(plan), ...usage } });
  const last = steps.pop();
  if (last !== undefined) steps.push(plan.reportsUsage ? { ...last, reportsUsage: true } : last);
  return steps;
}

type Add = (kind: Step["kind"], type: string, rest: object, thinking?: boolean) => void;

function addContent(part: Part, index: number, add: Add): void {
  const key = part.kind === "reasoning" ? "thinking" : "text";
  add("open", "content-start", { index, delta: { message: { content: { type: key, [key]: "" } } } });
  for (const piece of piecesOf(part)) {
    add("delta", "content-delta", { index, delta: { message: { content: { [key]: piece } } } }, key === "thinking");
  }
  add("open", "content-end", { index });
}

function addCall(part: Part & { kind: "call" }, stamp: Stamp, index: number, add: Add): void {
  add("delta", "tool-call-start", { index, delta: { message: { tool_calls: callOf(part, stamp, index, "") } } });
  for (const piece of piecesOf(part)) {
    add("delta", "tool-call-delta", { index, delta: { message: { tool_calls: { function: { arguments: piece } } } } });
  }
  add("open", "tool-call-end", { index });
}

function callOf({ call }: Part & { kind: "call" }, { n }: Stamp, index: number, text: string): object {
  return { id: `${call.name}_sim${n}x${index}`, type: "function", function: { name: call.name, arguments: text } };
}

function contentOf(part: Part, plan: Plan): object | null {
  if (part.kind === "call" || isPlan(part, plan)) return null;
  return part.kind === "reasoning" ? { type: "thinking", thinking: part.text } : { type: "text", text: part.text };
}

function isPlan(part: Part, plan: Plan): boolean {
  return part.kind !== "call" && part.kind !== "reasoning" && plan.parts.some(({ kind }) => kind === "call");
}

function planText(plan: Plan): string {
  return plan.parts.flatMap((part) => (isPlan(part, plan) ? [part.text] : [])).join("");
}

function idOf({ n }: Stamp): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
}

function finishReason({ finish, stopWord }: Plan): string {
  if (finish === "stop") return stopWord === null ? "COMPLETE" : "STOP_SEQUENCE";
  if (finish === "length") return "MAX_TOKENS";
  return finish === "tool_calls" ? "TOOL_CALL" : finish;
}

function usageOf({ input, output, reasoning }: Usage): object {
  return {
    billed_units: { input_tokens: input, output_tokens: output },
    tokens: {
      input_tokens: input + PREAMBLE_TOKENS,
      output_tokens: output + 2,
      ...(reasoning > 0 && { reasoning_tokens: reasoning }),
    },
    cached_tokens: PREAMBLE_CACHED,
  };
}
