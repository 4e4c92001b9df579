import type { Part, Plan } from "../models/plan.ts";
import { sign } from "../signature.ts";
import type { Stamp } from "../wire.ts";

/** A block of an answer. The text of a `tool_use` is its input as JSON. */
export type Block =
  | { readonly type: "text"; readonly part: Part }
  | { readonly type: "thinking"; readonly part: Part; readonly shown: boolean; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "tool_use"; readonly part: Part; readonly id: string; readonly name: string };

/** The blocks of an answer. `shown` false: thinking is signed but not told, as `display: omitted` has it. */
export function blocksOf(plan: Plan, stamp: Stamp, shown: boolean): Block[] {
  const quirks = plan.settings.quirk;
  const blocks: Block[] = [];
  let calls = 0;
  for (const part of plan.parts) {
    if (part.kind === "text") blocks.push({ type: "text", part });
    if (part.kind === "reasoning") {
      if (quirks?.has("redacted") === true) blocks.push({ type: "redacted_thinking", data: sign("redacted") });
      else blocks.push({ type: "thinking", part, shown, signature: sign(shown ? part.text : "") });
    }
    if (part.kind === "call") {
      const id = `toolu_sim${stamp.n}_${quirks?.has("dup_ids") === true ? 0 : calls}`;
      blocks.push({ type: "tool_use", part, id, name: part.call.name });
      calls += 1;
    }
  }
  return blocks;
}

/** Why an answer ends, as members of `message` or of the delta of `message_delta`. */
export function stopJson(plan: Plan): string {
  const refusal = plan.parts.find((part) => part.kind === "refusal");
  const reason = refusal === undefined ? stopReason(plan) : "refusal";
  const sequence = reason === "stop_sequence" ? JSON.stringify(plan.stopWord) : "null";
  const details =
    reason === "refusal"
      ? { type: "refusal", category: null, explanation: refusal?.text ?? "This request was declined." }
      : null;
  return `"stop_reason":${JSON.stringify(reason)},"stop_sequence":${sequence},"stop_details":${JSON.stringify(details)}`;
}

function stopReason({ finish, stopWord, settings }: Plan): string {
  if (finish === "stop") return stopWord === null ? "end_turn" : "stop_sequence";
  if (finish === "length") return "max_tokens";
  if (finish === "tool_calls") return settings.quirk?.has("stop_with_calls") === true ? "end_turn" : "tool_use";
  return finish === "content_filter" ? "refusal" : finish;
}
