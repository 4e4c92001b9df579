import type { JsonObject } from "../json.ts";
import type { Part, Plan } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import { logprobEntries } from "../openai-logprobs.ts";
import type { Stamp } from "../wire.ts";
import type { ResponsesRequest } from "./request.ts";
import { seal } from "./seal.ts";

/** Parts that become one output item: a call, reasoning, or a message of texts and refusals. */
export interface Group {
  readonly kind: "reasoning" | "message" | "call";
  readonly id: string;
  readonly parts: readonly Part[];
  /** The item as it is once it is done. */
  readonly item: JsonObject;
}

/** Id of the response. Answers of another account have other ids. */
export function responseId({ state }: ResponsesRequest, stamp: Stamp): string {
  return `resp_sim${state.account}_${stamp.n}`;
}

/** The output items of a plan, in order. */
export function groupsOf(request: ResponsesRequest, plan: Plan, stamp: Stamp): Group[] {
  const rows: { kind: Group["kind"]; parts: Part[] }[] = [];
  for (const part of plan.parts) {
    const kind = part.kind === "reasoning" || part.kind === "call" ? part.kind : "message";
    const last = rows.at(-1);
    if (kind === "message" && last?.kind === "message") last.parts.push(part);
    else rows.push({ kind, parts: [part] });
  }
  const cut = plan.finish === "length" || plan.finish === "content_filter";
  let calls = 0;
  return rows.map(({ kind, parts }, i) => {
    const status = cut && i === rows.length - 1 ? "incomplete" : "completed";
    const [part] = parts;
    const tail = `sim${request.state.account}_${stamp.n}_${i}`;
    if (part?.kind === "call") {
      const item = callItem(part, tail, callId(plan, stamp, calls), status);
      calls += 1;
      return { kind, id: String(item.id), parts, item };
    }
    const item =
      kind === "message" ? messageItem(request, parts, `msg_${tail}`, status) : thought(request, plan, parts, tail);
    return { kind, id: String(item.id), parts, item };
  });
}

function callId(plan: Plan, stamp: Stamp, call: number): string {
  return plan.settings.quirk?.has("dup_ids") === true ? "call_same" : `call_sim${stamp.n}_0_${call}`;
}

function callItem(part: Part & { kind: "call" }, tail: string, id: string, status: string): JsonObject {
  const { kind, name, namespace } = part.call;
  const named = { name, ...(namespace !== undefined && { namespace }) };
  if (kind === "custom") {
    return { id: `ctc_${tail}`, type: "custom_tool_call", status, call_id: id, input: part.text, ...named };
  }
  return { id: `fc_${tail}`, type: "function_call", status, arguments: part.text, call_id: id, ...named };
}

function messageItem(request: ResponsesRequest, parts: readonly Part[], id: string, status: string): JsonObject {
  const content = parts.map((part) => contentPart(part, request.topLogprobs));
  return { id, type: "message", status, content, role: "assistant" };
}

/** A part of a message as it is once it is done. */
export function contentPart(part: Part, topLogprobs: number | null): JsonObject {
  if (part.kind === "refusal") return { type: "refusal", refusal: part.text };
  const logprobs = topLogprobs === null ? [] : logprobEntries(piecesOf(part), topLogprobs);
  return { type: "output_text", annotations: [], logprobs, text: part.text };
}

/** Open models tell their reasoning itself (`field=reasoning_text`), the vendor's only a summary of it. */
function thought(request: ResponsesRequest, plan: Plan, parts: readonly Part[], tail: string): JsonObject {
  const open = plan.settings.field === "reasoning_text";
  const told = parts.map((part) => part.text);
  return {
    id: `rs_${tail}`,
    type: "reasoning",
    summary: request.summary && !open ? told.map((text) => ({ type: "summary_text", text })) : [],
    ...(open && { content: told.map((text) => ({ type: "reasoning_text", text })) }),
    ...(request.encrypted && { encrypted_content: seal(request.state.account, `${tail} ${told.join("")}`) }),
  };
}
