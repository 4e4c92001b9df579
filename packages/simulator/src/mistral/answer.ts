import type { Part, Plan, Usage } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import type { Stamp, Step } from "../wire.ts";

/** The event that ends every stream. */
export const DONE: Step = { kind: "end", data: "[DONE]" };

/** The whole answer as one object. Thoughts make the content a list. */
export function chatJson(plan: Plan, stamp: Stamp): string {
  const choices = Array.from({ length: plan.choices }, (_, index) => ({
    index,
    message: messageOf(plan, stamp, index),
    finish_reason: plan.finish,
  }));
  return JSON.stringify({
    ...headOf(stamp, "chat.completion"),
    choices,
    ...(plan.reportsUsage && { usage: usageOf(plan.usage) }),
  });
}

/** The answer as chunks: each call whole, in the chunk that also ends the answer and counts it. */
export function chatSteps(plan: Plan, stamp: Stamp): Step[] {
  const head = headOf(stamp, "chat.completion.chunk");
  const chunk = (index: number, delta: object, finish: string | null, rest: object = {}): string =>
    JSON.stringify({ ...head, choices: [{ index, delta, finish_reason: finish }], ...rest, p: "abcdefghij" });
  const steps: Step[] = [];
  for (let index = 0; index < plan.choices; index++) {
    steps.push({ kind: "open", data: chunk(index, { role: "assistant", content: "" }, null) });
    for (const part of plan.parts) {
      if (part.kind === "call") continue;
      const thinking = part.kind === "reasoning";
      for (const piece of piecesOf(part)) {
        const data = chunk(index, { content: thinking ? [thought(piece)] : piece }, null);
        steps.push(thinking ? { kind: "delta", data, thinking } : { kind: "delta", data });
      }
    }
  }
  for (let index = 0; index < plan.choices; index++) {
    const calls = callsOf(plan, stamp, index);
    if (calls.length > 1) {
      for (const call of calls.slice(0, -1)) {
        steps.push({ kind: "delta", data: chunk(index, { content: "", tool_calls: [call] }, null) });
      }
    }
    const delta = calls.length > 0 ? { content: "", tool_calls: calls.slice(-1) } : { content: "" };
    const last = index === plan.choices - 1 && plan.reportsUsage;
    const data = chunk(index, delta, plan.finish, last ? { usage: usageOf(plan.usage) } : {});
    steps.push({ kind: "finish", data, ...(last && { reportsUsage: true }) });
  }
  if (plan.endMarker) steps.push(DONE);
  return steps;
}

function headOf({ n, created, model }: Stamp, object: string): object {
  return { id: `sim${String(n).padStart(29, "0")}`, object, created, model };
}

function messageOf(plan: Plan, stamp: Stamp, choice: number): object {
  const thoughts = plan.parts.filter(({ kind }) => kind === "reasoning").map(({ text }) => thought(text));
  const text = plan.parts.filter(isText).map((part) => part.text);
  const said = text.join("");
  const calls = callsOf(plan, stamp, choice);
  return {
    role: "assistant",
    tool_calls: calls.length > 0 ? calls : null,
    content: thoughts.length > 0 ? [...thoughts, { type: "text", text: said }] : said,
  };
}

function isText({ kind }: Part): boolean {
  return kind === "text" || kind === "refusal";
}

function thought(text: string): object {
  return { type: "thinking", thinking: [{ type: "text", text }] };
}

/** Ids of nine letters and digits. */
function callsOf({ parts }: Plan, { n }: Stamp, choice: number): object[] {
  const calls = parts.filter((part) => part.kind === "call");
  return calls.map(({ call, text }, index) => {
    const id = `s${n.toString(36).padStart(6, "0").slice(-6)}${choice.toString(36).slice(-1)}${index.toString(36).slice(-1)}`;
    return { id, function: { name: call.name, arguments: text || "{}" }, index };
  });
}

function usageOf({ input, cached, output }: Usage): object {
  return {
    prompt_tokens: input,
    total_tokens: input + output,
    completion_tokens: output,
    num_cached_tokens: cached,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
