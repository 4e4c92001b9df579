import { isObject } from "../json.ts";
import type { Plan } from "../models/plan.ts";
import type { Step } from "../wire.ts";
import { chatUsage } from "./usage.ts";

type Bag = Record<string, unknown>;

interface Choice extends Bag {
  delta: Bag | null;
  finish_reason: unknown;
}

interface Item {
  kind: Step["kind"];
  thinking: boolean;
  reportsUsage: boolean;
  chunk: Bag & { choices: Choice[] | null };
}

type Change = (items: Item[], plan: Plan) => Item[];

/** What servers of the OpenAI family do otherwise, in the order they are applied. */
const STREAM_QUIRKS: ReadonlyArray<readonly [name: string, change: Change]> = [
  ["whole_calls", wholeCalls],
  ["object_args", (items) => eachCall(wholeCalls(items), objectArguments)],
  ["bare_calls", (items) => eachCall(items, bareCall)],
  ["dup_ids", (items) => eachCall(items, sameId)],
  ["merged_first", mergedFirst],
  ["stop_with_calls", (items) => eachChoice(items, stopsAnyway)],
  ["finish_repeated", finishRepeated],
  ["usage_in_finish", usageInFinish],
  ["usage_every", usageEvery],
  ["null_delta", (items) => afterOpening(items, (chunk) => [{ ...first(chunk), delta: null }])],
  ["null_choices", (items) => afterOpening(items, () => null)],
  ["empty_choices", (items) => afterOpening(items, () => [])],
  ["azure_first", azureFirst],
  ["obfuscation", obfuscated],
];

/** Applies the asked quirks to the events of a stream, the end marker not among them. */
export function quirkySteps(steps: readonly Step[], plan: Plan, quirks: ReadonlySet<string>): Step[] {
  let items = steps.map(
    (step): Item => ({
      kind: step.kind,
      thinking: step.thinking === true,
      reportsUsage: step.reportsUsage === true,
      chunk: JSON.parse(step.data),
    }),
  );
  for (const [name, change] of STREAM_QUIRKS) if (quirks.has(name)) items = change(items, plan);
  return items.map(({ chunk, ...rest }) => ({ ...rest, data: JSON.stringify(chunk) }));
}

/** Applies the asked quirks to a whole completion. */
export function quirkyCompletion(completion: { choices: unknown[] }, quirks: ReadonlySet<string>): unknown {
  for (const choice of completion.choices) {
    if (!isObject(choice) || !isObject(choice.message)) continue;
    const bag: Bag = choice;
    const calls = choice.message.tool_calls;
    for (const call of Array.isArray(calls) ? calls : []) {
      if (quirks.has("object_args")) objectArguments(call);
      if (quirks.has("dup_ids")) sameId(call);
      if (quirks.has("bare_calls")) bareCall(call);
    }
    if (quirks.has("stop_with_calls")) stopsAnyway(bag);
    if (quirks.has("no_message")) delete bag.message;
  }
  return completion;
}

function objectArguments(call: Bag): void {
  const made: Bag | undefined = isObject(call.function) ? call.function : undefined;
  if (made !== undefined && typeof made.arguments === "string") made.arguments = JSON.parse(made.arguments || "{}");
}

function bareCall(call: Bag): void {
  delete call.index;
  delete call.type;
}

function sameId(call: Bag): void {
  if ("id" in call) call.id = "call_same";
}

function stopsAnyway(choice: Bag): void {
  if (choice.finish_reason === "tool_calls") choice.finish_reason = "stop";
}

function first(chunk: Item["chunk"]): Choice {
  return chunk.choices?.[0] ?? { index: 0, delta: {}, finish_reason: null };
}

function callsOf(item: Item): Bag[] {
  const calls = item.chunk.choices?.[0]?.delta?.tool_calls;
  return Array.isArray(calls) ? calls : [];
}

function eachCall(items: Item[], change: (call: Bag) => void): Item[] {
  for (const item of items) callsOf(item).forEach(change);
  return items;
}

function eachChoice(items: Item[], change: (choice: Bag) => void): Item[] {
  for (const item of items) item.chunk.choices?.forEach(change);
  return items;
}

/** Joins the fragments of a call into the delta that opened it (Groq, Mistral). */
function wholeCalls(items: Item[]): Item[] {
  const opened = new Map<string, Bag>();
  return items.filter((item) => {
    const [call] = callsOf(item);
    if (call === undefined) return true;
    const key = `${first(item.chunk).index}/${call.index}`;
    const opening = opened.get(key);
    if (opening === undefined) {
      opened.set(key, call);
      return true;
    }
    const [kind, field] = "custom" in opening ? ["custom", "input"] : ["function", "arguments"];
    const target = opening[kind] as Bag;
    const piece = call[kind] as Bag;
    target[field] = `${target[field]}${piece[field]}`;
    return false;
  });
}

/** Puts the role and the first output into one chunk. */
function mergedFirst(items: Item[]): Item[] {
  const [opening, next, ...rest] = items;
  if (opening?.kind !== "open" || next?.kind !== "delta") return items;
  const choice = { ...first(next.chunk), delta: { ...first(opening.chunk).delta, ...first(next.chunk).delta } };
  return [{ ...next, chunk: { ...next.chunk, choices: [choice] } }, ...rest];
}

/** A second chunk with the finish reason, which also carries the usage (OpenRouter). */
function finishRepeated(items: Item[]): Item[] {
  const finish = items.findLast((item) => item.kind === "finish");
  if (finish === undefined) return items;
  const usage = items.find((item) => item.kind === "usage");
  if (usage === undefined) return [...items, { ...finish, chunk: { ...finish.chunk } }];
  usage.chunk.choices = [first(finish.chunk)];
  return items;
}

/** The usage rides on the finish chunk (Mistral, DeepSeek, Moonshot). */
function usageInFinish(items: Item[], plan: Plan): Item[] {
  const finish = items.findLast((item) => item.kind === "finish");
  if (finish === undefined || !plan.reportsUsage) return items;
  finish.chunk.usage = chatUsage(plan.usage, plan.settings.quirk ?? new Set());
  finish.reportsUsage = true;
  return items.filter((item) => item.kind !== "usage");
}

/** Every chunk carries the usage so far (Perplexity, vLLM's continuous_usage_stats). */
function usageEvery(items: Item[], plan: Plan): Item[] {
  const deltas = items.filter((item) => item.kind === "delta").length;
  let seen = 0;
  for (const item of items) {
    if (item.kind === "delta") seen += 1;
    if (item.kind === "usage") continue;
    const output = deltas === 0 ? plan.usage.output : Math.floor((plan.usage.output * seen) / deltas);
    item.chunk.usage = chatUsage({ ...plan.usage, output }, plan.settings.quirk ?? new Set());
    item.reportsUsage = item.kind === "finish";
  }
  return items;
}

function afterOpening(items: Item[], choices: (chunk: Item["chunk"]) => Choice[] | null): Item[] {
  const opening = items[0];
  if (opening === undefined) return items;
  const odd: Item = { ...opening, kind: "open", chunk: { ...opening.chunk, choices: choices(opening.chunk) } };
  return [opening, odd, ...items.slice(1)];
}

/** Azure opens with a chunk that has no choices, no id and no model. */
function azureFirst(items: Item[]): Item[] {
  const safe = { hate: { filtered: false, severity: "safe" }, violence: { filtered: false, severity: "safe" } };
  const results = [{ prompt_index: 0, content_filter_results: safe }];
  const chunk = { choices: [], created: 0, id: "", model: "", object: "", prompt_filter_results: results };
  return [{ kind: "open", thinking: false, reportsUsage: false, chunk }, ...items];
}

function obfuscated(items: Item[]): Item[] {
  items.forEach((item, i) => {
    if (item.kind === "delta") item.chunk.obfuscation = "x".repeat(1 + (i % 16));
  });
  return items;
}
