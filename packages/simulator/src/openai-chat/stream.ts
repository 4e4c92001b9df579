import type { Part, Plan } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import type { Stamp, Step } from "../wire.ts";
import { logprobsOf } from "./logprobs.ts";
import { quirkySteps } from "./quirks.ts";
import type { ChatRequest } from "./request.ts";
import { callId, completionId, finishReason, quirksOf } from "./response.ts";
import { usageJson } from "./usage.ts";

/** The event that ends every chat stream. */
export const DONE: Step = { kind: "end", data: "[DONE]" };

/** One delta as JSON text; `token` where log probabilities apply. */
interface Delta {
  readonly json: string;
  readonly thinking?: boolean;
  readonly token?: string;
}

/**
 * The answer as chunks, in OpenAI's order: role, deltas (choices interleaved), finish, usage when asked, [DONE].
 * Chunks are put together as text because a benchmark makes millions of them.
 */
export function chatSteps(request: ChatRequest, plan: Plan, stamp: Stamp): Step[] {
  const quirks = quirksOf(plan);
  const model = JSON.stringify(stamp.model);
  const head = `{"id":"${completionId(stamp)}","object":"chat.completion.chunk","created":${stamp.created},"model":${model},"service_tier":"default","system_fingerprint":"fp_sim","choices":[`;
  const tail = request.includeUsage && plan.reportsUsage ? `],"usage":null}` : "]}";
  const chunk = (choice: number, delta: string, finish: string | null, logprobs: string): string =>
    `${head}{"index":${choice},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish === null ? "null" : JSON.stringify(finish)}}${tail}`;
  const steps: Step[] = [];
  const choices = Array.from({ length: plan.choices }, (_, i) => deltasOf(plan, stamp, i));
  const onlyCalls = !plan.parts.some((part) => part.kind === "text");
  const opening = `{"role":"assistant","content":${onlyCalls && plan.parts.length > 0 ? "null" : '""'},"refusal":null}`;
  choices.forEach((_, i) => {
    steps.push({ kind: "open", data: chunk(i, opening, null, "null") });
  });
  const longest = Math.max(...choices.map((deltas) => deltas.length));
  for (let at = 0; at < longest; at++) {
    choices.forEach((deltas, i) => {
      const delta = deltas[at];
      if (delta === undefined) return;
      const data = chunk(i, delta.json, null, logprobsText(delta, request.topLogprobs));
      steps.push(delta.thinking === true ? { kind: "delta", data, thinking: true } : { kind: "delta", data });
    });
  }
  choices.forEach((_, i) => {
    steps.push({ kind: "finish", data: chunk(i, "{}", finishReason(plan), "null") });
  });
  const wanted = request.includeUsage || quirks.has("usage_always");
  if (wanted && plan.reportsUsage) {
    const usage = usageJson(plan.usage, quirks);
    steps.push({ kind: "usage", data: `${head}],"usage":${usage}}`, reportsUsage: true });
  }
  const quirky = quirks.size > 0 ? quirkySteps(steps, plan, quirks) : steps;
  if (plan.endMarker) quirky.push(DONE);
  return quirky;
}

function logprobsText(delta: Delta, top: number | null): string {
  if (top === null || delta.token === undefined) return "null";
  return JSON.stringify(logprobsOf([delta.token], top));
}

function deltasOf(plan: Plan, stamp: Stamp, choice: number): Delta[] {
  const deltas: Delta[] = [];
  let call = 0;
  for (const part of plan.parts) {
    if (part.kind === "call") {
      pushCall(deltas, part, call, callId(stamp, choice, call));
      call += 1;
      continue;
    }
    const thinking = part.kind === "reasoning";
    const field =
      part.kind === "text" ? "content" : thinking ? (plan.settings.field ?? "reasoning_content") : "refusal";
    const key = JSON.stringify(field);
    for (const piece of piecesOf(part)) {
      const json = `{${key}:${JSON.stringify(piece)}}`;
      if (thinking) deltas.push({ json, thinking });
      else deltas.push(part.kind === "text" ? { json, token: piece } : { json });
    }
  }
  return deltas;
}

function pushCall(deltas: Delta[], part: Part & { kind: "call" }, index: number, id: string): void {
  const name = JSON.stringify(part.call.name);
  if (part.call.kind === "legacy") {
    deltas.push({ json: `{"function_call":{"name":${name},"arguments":""}}` });
    for (const piece of piecesOf(part)) {
      deltas.push({ json: `{"function_call":{"arguments":${JSON.stringify(piece)}}}` });
    }
    return;
  }
  const kind = part.call.kind;
  const input = kind === "custom" ? "input" : "arguments";
  const opening = `{"index":${index},"id":"${id}","type":"${kind}","${kind}":{"name":${name},"${input}":""}}`;
  deltas.push({ json: `{"tool_calls":[${opening}]}` });
  for (const piece of piecesOf(part)) {
    deltas.push({ json: `{"tool_calls":[{"index":${index},"${kind}":{"${input}":${JSON.stringify(piece)}}}]}` });
  }
}
