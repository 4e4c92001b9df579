import type { Part, Plan, Usage } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import { sign } from "../signature.ts";
import type { Stamp, Step } from "../wire.ts";

/** Bedrock pads its payloads with a run of letters; this many in turn. */
const PADS = ["abcdefghijk", "ab", "abcdefghijklmnopqrstuvwxyzABCDEF", "abcdefg", "abcdefghijklmnopqrst"] as const;

/** The whole answer as one object. */
export function converseJson(plan: Plan, stamp: Stamp): string {
  const content = plan.parts.map((part, i) => blockOf(part, plan, stamp, i));
  return JSON.stringify({
    metrics: { latencyMs: 1 },
    output: { message: { content, role: "assistant" } },
    stopReason: stopReason(plan),
    ...fieldsOf(plan, "stop_sequence"),
    ...(plan.reportsUsage && { usage: usageOf(plan.usage) }),
  });
}

/** The answer as events: only tools are announced, every other block begins with its first delta; usage comes last. */
export function converseSteps(plan: Plan, stamp: Stamp): Step[] {
  const steps: Step[] = [];
  const add = (kind: Step["kind"], event: string, payload: object, thinking = false): void => {
    const p = PADS[steps.length % PADS.length];
    const data = JSON.stringify({ ...payload, p });
    steps.push(thinking ? { kind, event, data, thinking } : { kind, event, data });
  };
  add("open", "messageStart", { role: "assistant" });
  if (plan.settings.quirk?.has("odd_events") === true) add("open", "messageHint", { hint: { some: "thing" } });
  plan.parts.forEach((part, contentBlockIndex) => {
    const delta = (kind: Step["kind"], value: object, thinking = false): void =>
      add(kind, "contentBlockDelta", { contentBlockIndex, delta: value }, thinking);
    addBlock(part, plan, stamp, contentBlockIndex, add, delta);
    add("open", "contentBlockStop", { contentBlockIndex });
  });
  add("finish", "messageStop", { ...fieldsOf(plan, "delta"), stopReason: stopReason(plan) });
  if (!plan.reportsUsage) return steps;
  add("usage", "metadata", { metrics: { latencyMs: 1 }, usage: usageOf(plan.usage) });
  const last = steps.pop();
  if (last !== undefined) steps.push({ ...last, reportsUsage: true });
  return steps;
}

type Add = (kind: Step["kind"], event: string, payload: object) => void;
type Delta = (kind: Step["kind"], value: object, thinking?: boolean) => void;

function addBlock(part: Part, plan: Plan, stamp: Stamp, index: number, add: Add, delta: Delta): void {
  const quirks = plan.settings.quirk;
  if (part.kind === "call") {
    const toolUse = { name: part.call.name, toolUseId: callId(plan, stamp, index) };
    add("open", "contentBlockStart", { contentBlockIndex: index, start: { toolUse } });
    const pieces = quirks?.has("whole_calls") === true ? [part.text] : piecesOf(part);
    for (const input of pieces) delta("delta", { toolUse: { input } });
  } else if (part.kind === "reasoning") {
    if (quirks?.has("redacted") === true) {
      delta("open", { reasoningContent: { redactedContent: sign("redacted") } });
      return;
    }
    for (const text of piecesOf(part)) delta("delta", { reasoningContent: { text } }, true);
    if (quirks?.has("no_signature") !== true) delta("open", { reasoningContent: { signature: sign(part.text) } });
  } else for (const text of piecesOf(part)) delta("delta", { text });
}

function blockOf(part: Part, plan: Plan, stamp: Stamp, index: number): object {
  const quirks = plan.settings.quirk;
  if (part.kind === "call") {
    return { toolUse: { input: inputOf(part.text), name: part.call.name, toolUseId: callId(plan, stamp, index) } };
  }
  if (part.kind !== "reasoning") return { text: part.text };
  if (quirks?.has("redacted") === true) return { reasoningContent: { redactedContent: sign("redacted") } };
  const signature = quirks?.has("no_signature") === true ? {} : { signature: sign(part.text) };
  return { reasoningContent: { reasoningText: { ...signature, text: part.text } } };
}

function callId({ settings }: Plan, { n }: Stamp, index: number): string {
  return `tooluse_sim${n}_${settings.quirk?.has("dup_ids") === true ? 0 : index}`;
}

/** The input as a value; text that is no JSON, such as one cut by the output cap, leaves nothing of it. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Which stop word was hit is told in the model's own words, where they are asked for. */
function fieldsOf(plan: Plan, at: "stop_sequence" | "delta"): object {
  if (plan.stopWord === null || plan.finish !== "stop") return {};
  const said = { stop_sequence: plan.stopWord };
  return { additionalModelResponseFields: at === "delta" ? { delta: said } : said };
}

function stopReason({ finish, stopWord, settings }: Plan): string {
  if (finish === "stop") return stopWord === null ? "end_turn" : "stop_sequence";
  if (finish === "length") return "max_tokens";
  if (finish === "tool_calls") return settings.quirk?.has("stop_with_calls") === true ? "end_turn" : "tool_use";
  return finish === "content_filter" ? "guardrail_intervened" : finish;
}

/** What was read from a cache or written to one stands outside `inputTokens`, inside the total. */
function usageOf({ input, cached, cacheWrite, cacheWriteHour = 0, output }: Usage): object {
  const hour = Math.min(cacheWriteHour, cacheWrite);
  const details = [
    { inputTokens: cacheWrite - hour, ttl: "5m" },
    { inputTokens: hour, ttl: "1h" },
  ].filter(({ inputTokens }) => inputTokens > 0);
  return {
    ...(details.length > 0 && { cacheDetails: details }),
    cacheReadInputTokenCount: cached,
    cacheReadInputTokens: cached,
    cacheWriteInputTokenCount: cacheWrite,
    cacheWriteInputTokens: cacheWrite,
    inputTokens: Math.max(0, input - cached - cacheWrite),
    outputTokens: output,
    serverToolUsage: {},
    totalTokens: input + output,
  };
}
