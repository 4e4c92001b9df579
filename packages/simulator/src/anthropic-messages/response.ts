import type { Plan } from "../models/plan.ts";
import type { Stamp } from "../wire.ts";
import { type Block, blocksOf, stopJson } from "./blocks.ts";
import { outputJson, usageJson } from "./usage.ts";

/** Id of the answer. */
export function messageId(stamp: Stamp): string {
  return `msg_sim${stamp.n}`;
}

/** The whole answer as one `message`. */
export function messageJson(plan: Plan, stamp: Stamp, shown: boolean): string {
  const content = blocksOf(plan, stamp, shown).map(blockJson).join(",");
  const usage = plan.reportsUsage ? `,"usage":${usageJson(plan.usage, outputJson(plan.usage))}` : "";
  return `{"model":${JSON.stringify(stamp.model)},"id":"${messageId(stamp)}","type":"message","role":"assistant","content":[${content}],${stopJson(plan)}${usage}}`;
}

function blockJson(block: Block): string {
  if (block.type === "text") return JSON.stringify({ type: "text", text: block.part.text });
  if (block.type === "redacted_thinking") return JSON.stringify(block);
  if (block.type === "thinking") {
    const { part, shown, signature } = block;
    return JSON.stringify({ type: "thinking", thinking: shown ? part.text : "", signature });
  }
  return JSON.stringify({ type: "tool_use", id: block.id, name: block.name, input: inputOf(block.part.text) });
}

/** The input as a value; text that is no JSON, such as one cut by the output cap, leaves nothing of it. */
function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
