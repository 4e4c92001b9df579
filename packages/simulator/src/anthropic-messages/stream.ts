import type { Part, Plan } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import type { Stamp, Step } from "../wire.ts";
import { type Block, blocksOf, stopJson } from "./blocks.ts";
import { messageId } from "./response.ts";
import { inputJson, outputJson, usageJson } from "./usage.ts";

/** The event that ends every stream. */
export const STOP: Step = { kind: "end", event: "message_stop", data: '{"type":"message_stop"}' };
/** As recorded: a space after the colon here, and only here. */
const PING: Step = { kind: "open", event: "ping", data: '{"type": "ping"}' };
/** Anthropic pads its events with blanks before the last brace; this many in turn. */
const PADS = ["", "   ", "          ", " ", "               ", "     "] as const;

type Kind = Step["kind"];

/**
 * The answer as events in Anthropic's order: message_start, each block from start to stop, a ping within the
 * first, message_delta with the reason and cumulative usage, message_stop.
 */
export function messageSteps(plan: Plan, stamp: Stamp, shown: boolean): Step[] {
  const quirks = plan.settings.quirk;
  const steps: Step[] = [];
  const add = (kind: Kind, event: string, rest: string, thinking = false): void => {
    const pad = PADS[steps.length % PADS.length] ?? "";
    const data = `{"type":"${event}",${rest}${pad}}`;
    steps.push(thinking ? { kind, event, data, thinking } : { kind, event, data });
  };
  const start = `"message":{"model":${JSON.stringify(stamp.model)},"id":"${messageId(stamp)}","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null${startUsage(plan)}}`;
  add("open", "message_start", start);
  if (quirks?.has("dup_start") === true) add("open", "message_start", start);
  const blocks = blocksOf(plan, stamp, shown);
  if (blocks.length === 0) steps.push(PING);
  if (quirks?.has("odd_events") === true) add("open", "message_hint", '"hint":{"some":"thing"}');
  blocks.forEach((block, index) => {
    add("open", "content_block_start", `"index":${index},"content_block":${opening(block)}`);
    if (index === 0) steps.push(PING);
    const delta = (kind: Kind, json: string, thinking?: boolean): void =>
      add(kind, "content_block_delta", `"index":${index},"delta":${json}`, thinking);
    if (quirks?.has("odd_events") === true) delta("open", '{"type":"odd_delta","odd":"thing"}');
    addDeltas(block, plan, delta);
    add("open", "content_block_stop", `"index":${index}`);
  });
  const usage = plan.reportsUsage ? `,"usage":{${inputJson(plan.usage)},${outputJson(plan.usage)}}` : "";
  add("finish", "message_delta", `"delta":{${stopJson(plan)}}${usage}`);
  const last = steps.pop();
  if (last !== undefined) steps.push({ ...last, reportsUsage: plan.reportsUsage });
  if (plan.endMarker) steps.push(STOP);
  return steps;
}

/** The first figures are those of the input; one token of output is said to be there from the start. */
function startUsage({ usage, reportsUsage, settings }: Plan): string {
  if (!reportsUsage) return "";
  const late = settings.quirk?.has("late_input") === true;
  const early = late ? { ...usage, input: Math.ceil(usage.input / 2), cached: 0, cacheWrite: 0 } : usage;
  return `,"usage":${usageJson(early, '"output_tokens":1')}`;
}

function opening(block: Block): string {
  if (block.type === "text") return '{"type":"text","text":""}';
  if (block.type === "thinking") return '{"type":"thinking","thinking":"","signature":""}';
  if (block.type === "redacted_thinking") return JSON.stringify(block);
  return `{"type":"tool_use","id":"${block.id}","name":${JSON.stringify(block.name)},"input":{}}`;
}

function addDeltas(block: Block, plan: Plan, delta: (kind: Kind, json: string, thinking?: boolean) => void): void {
  if (block.type === "redacted_thinking") return;
  if (block.type === "text") {
    for (const piece of piecesOf(block.part)) delta("delta", `{"type":"text_delta","text":${JSON.stringify(piece)}}`);
    return;
  }
  if (block.type === "thinking") {
    for (const piece of block.shown ? piecesOf(block.part) : []) {
      delta("delta", `{"type":"thinking_delta","thinking":${JSON.stringify(piece)}}`, true);
    }
    delta("open", `{"type":"signature_delta","signature":"${block.signature}"}`);
    return;
  }
  const pieces = inputPieces(block.part, plan);
  // The first piece is empty, and for a call without arguments the only one.
  delta(pieces.length === 0 ? "delta" : "open", '{"type":"input_json_delta","partial_json":""}');
  for (const piece of pieces) delta("delta", `{"type":"input_json_delta","partial_json":${JSON.stringify(piece)}}`);
}

function inputPieces(part: Part, { settings }: Plan): readonly string[] {
  if (part.text === "{}") return [];
  return settings.quirk?.has("whole_calls") === true ? [part.text] : piecesOf(part);
}
