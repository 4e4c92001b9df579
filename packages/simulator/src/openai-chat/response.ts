import type { Part, Plan } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import type { Stamp } from "../wire.ts";
import { logprobsOf } from "./logprobs.ts";
import { quirkyCompletion } from "./quirks.ts";
import type { ChatRequest } from "./request.ts";
import { usageJson } from "./usage.ts";

const NO_QUIRKS: ReadonlySet<string> = new Set();

/** Id of the answer, shared by its chunks. */
export function completionId(stamp: Stamp): string {
  return `chatcmpl-sim${stamp.n}`;
}

/** Id of a tool call: unique over answers, choices and calls. */
export function callId(stamp: Stamp, choice: number, call: number): string {
  return `call_sim${stamp.n}_${choice}_${call}`;
}

/** The `finish_reason` of a plan; the old `function_call` where the old `functions` were asked. */
export function finishReason(plan: Plan): string {
  const legacy = plan.parts.some((part) => part.kind === "call" && part.call.kind === "legacy");
  return legacy && plan.finish === "tool_calls" ? "function_call" : plan.finish;
}

/** The quirks asked in the model name. */
export function quirksOf(plan: Plan): ReadonlySet<string> {
  return plan.settings.quirk ?? NO_QUIRKS;
}

/** The whole answer as one `chat.completion`, put together as text because a benchmark makes millions of them. */
export function chatJson(request: ChatRequest, plan: Plan, stamp: Stamp): string {
  const quirks = quirksOf(plan);
  let choices = "";
  for (let index = 0; index < plan.choices; index++) {
    if (index > 0) choices += ",";
    choices += choiceJson(request, plan, stamp, index);
  }
  const usage = plan.reportsUsage ? `"usage":${usageJson(plan.usage, quirks)},` : "";
  const completion = `{"id":"${completionId(stamp)}","object":"chat.completion","created":${stamp.created},"model":${JSON.stringify(stamp.model)},"choices":[${choices}],${usage}"service_tier":"default","system_fingerprint":"fp_sim"}`;
  return quirks.size > 0 ? JSON.stringify(quirkyCompletion(JSON.parse(completion), quirks)) : completion;
}

function choiceJson(request: ChatRequest, plan: Plan, stamp: Stamp, index: number): string {
  const { topLogprobs } = request;
  const logprobs = topLogprobs === null ? "null" : JSON.stringify(logprobsOf(textPieces(plan.parts), topLogprobs));
  const finish = JSON.stringify(finishReason(plan));
  return `{"index":${index},"message":${messageJson(plan, stamp, index)},"logprobs":${logprobs},"finish_reason":${finish}}`;
}

function messageJson(plan: Plan, stamp: Stamp, choice: number): string {
  let text: string | null = null;
  let thought: string | null = null;
  let refusal: string | null = null;
  const calls: (Part & { kind: "call" })[] = [];
  for (const part of plan.parts) {
    if (part.kind === "call") calls.push(part);
    else if (part.kind === "text") text = (text ?? "") + part.text;
    else if (part.kind === "reasoning") thought = (thought ?? "") + part.text;
    else refusal = (refusal ?? "") + part.text;
  }
  const field = JSON.stringify(plan.settings.field ?? "reasoning_content");
  const reasoning = thought === null ? "" : `,${field}:${JSON.stringify(thought)}`;
  const called = calls.length === 0 ? "" : `,${callsJson(calls, stamp, choice)}`;
  return `{"role":"assistant","content":${JSON.stringify(text)}${reasoning},"refusal":${JSON.stringify(refusal)},"annotations":[]${called}}`;
}

function callsJson(calls: readonly (Part & { kind: "call" })[], stamp: Stamp, choice: number): string {
  const legacy = calls.find((part) => part.call.kind === "legacy");
  if (legacy !== undefined) {
    const made = { name: legacy.call.name, arguments: legacy.text };
    return `"function_call":${JSON.stringify(made)}`;
  }
  const list = calls.map(({ call, text }, i) => {
    const input = { [call.kind === "custom" ? "input" : "arguments"]: text };
    return { id: callId(stamp, choice, i), type: call.kind, [call.kind]: { name: call.name, ...input } };
  });
  return `"tool_calls":${JSON.stringify(list)}`;
}

function textPieces(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.kind === "text" ? piecesOf(part) : []));
}
