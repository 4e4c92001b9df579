import type { JsonObject } from "../json.ts";
import type { Part, Plan } from "../models/plan.ts";
import type { Problem } from "../models/problem.ts";
import { piecesOf } from "../models/text.ts";
import { openAiErrorParts } from "../openai-error.ts";
import { logprobEntries } from "../openai-logprobs.ts";
import type { Stamp, Step } from "../wire.ts";
import { contentPart, type Group, groupsOf } from "./output.ts";
import type { ResponsesRequest } from "./request.ts";
import { endOf, failureOf, responseObject } from "./response.ts";

const IN_PROGRESS = { status: "in_progress", output: [], usage: null } as const;

/** Collects the events of a stream and numbers them. */
interface Sheet {
  readonly steps: Step[];
  readonly obfuscated: boolean;
}

function write(sheet: Sheet, type: string, fields: JsonObject, more?: Omit<Step, "kind" | "data" | "event">): void {
  const delta = type.endsWith(".delta");
  const padding = delta && sheet.obfuscated ? { obfuscation: "x".repeat(1 + (sheet.steps.length % 16)) } : {};
  const data = JSON.stringify({ type, sequence_number: sheet.steps.length, ...fields, ...padding });
  sheet.steps.push({ kind: delta ? "delta" : "open", data, event: type, ...more });
}

/** The answer as typed events, in the vendor's order: created, in_progress, each item from added to done, completed. */
export function responsesSteps(request: ResponsesRequest, plan: Plan, stamp: Stamp): Step[] {
  const quirks = plan.settings.quirk;
  const sheet: Sheet = { steps: [], obfuscated: request.obfuscation || quirks?.has("obfuscation") === true };
  const opening = { response: responseObject(request, stamp, IN_PROGRESS) };
  if (request.background) {
    const queued = { response: responseObject(request, stamp, { ...IN_PROGRESS, status: "queued" }) };
    write(sheet, "response.created", queued);
    write(sheet, "response.queued", queued);
  } else {
    write(sheet, "response.created", opening);
  }
  write(sheet, "response.in_progress", opening);
  const groups = groupsOf(request, plan, stamp);
  groups.forEach((group, index) => {
    writeItem(sheet, request, plan, group, index);
  });
  const end = endOf(
    plan,
    groups.map((group) => group.item),
  );
  const step = last(sheet, `response.${end.status}`, { response: responseObject(request, stamp, end) });
  sheet.steps.push({ ...step, reportsUsage: end.usage !== null });
  return quirks?.has("fresh_ids") === true ? sheet.steps.map(withFreshIds) : sheet.steps;
}

/** The error event and the failed response that end a stream after `sent` events; shape `flat` has the documented form. */
export function failedSteps(request: ResponsesRequest, problem: Problem, stamp: Stamp, sent: number): Step[] {
  const { type, code, message, param } = openAiErrorParts(problem);
  const flat = { code: code ?? type, message, param };
  const said = problem.shape === "flat" ? flat : { error: { type, code: code ?? type, message, param } };
  const failed = { response: responseObject(request, stamp, failureOf(problem)) };
  return [numbered("error", sent, said), numbered("response.failed", sent + 1, failed)];
}

function numbered(type: string, sequence: number, fields: JsonObject): Step {
  return { kind: "finish", data: JSON.stringify({ type, sequence_number: sequence, ...fields }), event: type };
}

function last(sheet: Sheet, type: string, fields: JsonObject): Step {
  return numbered(type, sheet.steps.length, fields);
}

function writeItem(sheet: Sheet, request: ResponsesRequest, plan: Plan, group: Group, index: number): void {
  const { item, id, parts } = group;
  const at = { item_id: id, output_index: index };
  write(sheet, "response.output_item.added", { output_index: index, item: opened(item) });
  parts.forEach((part, i) => {
    if (part.kind === "call") writeCall(sheet, part, at);
    else if (part.kind !== "reasoning") writeContent(sheet, part, { ...at, content_index: i }, request.topLogprobs);
    else if (plan.settings.field === "reasoning_text") writeOpenThought(sheet, part, { ...at, content_index: i });
    else if (request.summary) writeSummary(sheet, part, { ...at, summary_index: i });
  });
  write(sheet, "response.output_item.done", { output_index: index, item });
}

/** An item before anything of it has come. */
function opened(item: JsonObject): JsonObject {
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  if (item.type === "function_call") return { ...item, status: "in_progress", arguments: "" };
  if (item.type === "custom_tool_call") return { ...item, status: "in_progress", input: "" };
  return { ...item, summary: [], ...(item.content !== undefined && { content: [] }) };
}

function writeCall(sheet: Sheet, part: Part & { kind: "call" }, at: JsonObject): void {
  const custom = part.call.kind === "custom";
  const event = custom ? "response.custom_tool_call_input" : "response.function_call_arguments";
  for (const delta of piecesOf(part)) write(sheet, `${event}.delta`, { ...at, delta });
  write(sheet, `${event}.done`, {
    ...at,
    ...(custom ? { input: part.text } : { arguments: part.text, name: part.call.name }),
  });
}

function writeContent(sheet: Sheet, part: Part, at: JsonObject, topLogprobs: number | null): void {
  const refusal = part.kind === "refusal";
  const none = refusal
    ? { type: "refusal", refusal: "" }
    : { type: "output_text", annotations: [], logprobs: [], text: "" };
  write(sheet, "response.content_part.added", { ...at, part: none });
  for (const delta of piecesOf(part)) {
    if (refusal) write(sheet, "response.refusal.delta", { ...at, delta });
    else {
      const logprobs = topLogprobs === null ? [] : logprobEntries([delta], topLogprobs);
      write(sheet, "response.output_text.delta", { ...at, delta, logprobs });
    }
  }
  const whole = contentPart(part, topLogprobs);
  if (refusal) write(sheet, "response.refusal.done", { ...at, refusal: part.text });
  else write(sheet, "response.output_text.done", { ...at, text: part.text, logprobs: whole.logprobs });
  write(sheet, "response.content_part.done", { ...at, part: whole });
}

function writeSummary(sheet: Sheet, part: Part, at: JsonObject): void {
  const { text } = part;
  write(sheet, "response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } });
  for (const delta of piecesOf(part)) write(sheet, "response.reasoning_summary_text.delta", { ...at, delta }, THINKING);
  write(sheet, "response.reasoning_summary_text.done", { ...at, text });
  write(sheet, "response.reasoning_summary_part.done", { ...at, part: { type: "summary_text", text } });
}

const THINKING = { thinking: true } as const;

function writeOpenThought(sheet: Sheet, part: Part, at: JsonObject): void {
  for (const delta of piecesOf(part)) write(sheet, "response.reasoning_text.delta", { ...at, delta }, THINKING);
  write(sheet, "response.reasoning_text.done", { ...at, text: part.text });
}

/** GitHub Copilot gives an item another id in each event. */
function withFreshIds(step: Step, index: number): Step {
  const event: Record<string, unknown> = JSON.parse(step.data);
  if (typeof event.item_id === "string") event.item_id = `${event.item_id}_${index}`;
  const item = event.item as Record<string, unknown> | undefined;
  if (item !== undefined) item.id = `${item.id}_${index}`;
  return { ...step, data: JSON.stringify(event) };
}
