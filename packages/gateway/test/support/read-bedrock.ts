import type { Usage } from "@sluicegate/contract";
import { eventsOf } from "./event-frames.ts";
import { at, type Json, listAt, numberAt, textAt } from "./loose-json.ts";
import { finishOf, meant, type Reply, silent } from "./said.ts";

const WORDS: Record<string, string> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
  malformed_model_output: "error",
  malformed_tool_use: "error",
};

/** An answer of Converse, whole or put together from its frames. */
export function readBedrock(bytes: Buffer, stream: boolean): Reply {
  const answer = stream ? assembled(bytes) : (JSON.parse(bytes.toString("utf8")) as Json);
  const said = silent();
  for (const block of listAt(answer, "output", "message", "content")) {
    said.text += textAt(block, "text");
    said.reasoning += textAt(block, "reasoningContent", "reasoningText", "text");
    const signature = textAt(block, "reasoningContent", "reasoningText", "signature");
    const sealed = textAt(block, "reasoningContent", "redactedContent");
    for (const proof of [signature, sealed]) if (proof !== "") said.proofs.push(proof);
    // What the provider ran itself is no call for the client.
    if (at(block, "toolUse") === undefined || textAt(block, "toolUse", "type") === "server_tool_use") continue;
    said.calls.push({ name: textAt(block, "toolUse", "name"), arguments: at(block, "toolUse", "input") });
  }
  said.finish = finishOf(at(answer, "stopReason"), WORDS, said.calls.length > 0);
  return { choices: [said], usage: usageOf(at(answer, "usage")), model: null };
}

function assembled(bytes: Buffer): Json {
  const blocks: Json[] = [];
  const answer: Json = { output: { message: { content: blocks } } };
  const pieces = new Map<Json, string>();
  for (const { name, event } of eventsOf(bytes)) {
    if (name === "messageStop") answer["stopReason"] = event["stopReason"];
    if (name === "metadata") answer["usage"] = event["usage"];
    const index = numberAt(event, "contentBlockIndex");
    if (name === "contentBlockStart") blocks[index] = { ...(event["start"] as Json) };
    if (name !== "contentBlockDelta") continue;
    blocks[index] ??= {};
    const block = blocks[index] as Json;
    const delta = event["delta"];
    if (at(delta, "text") !== undefined) block["text"] = textAt(block, "text") + textAt(delta, "text");
    const thought = at(delta, "reasoningContent");
    if (thought !== undefined) block["reasoningContent"] = added(block["reasoningContent"], thought);
    const input = at(delta, "toolUse", "input");
    if (input !== undefined) pieces.set(block, (pieces.get(block) ?? "") + String(input));
  }
  for (const block of blocks) {
    const use = block?.["toolUse"] as Json | undefined;
    if (use) use["input"] = meant(pieces.get(block as Json) ?? "");
  }
  return { ...answer, output: { message: { content: blocks.filter(Boolean) } } };
}

function added(thought: unknown, delta: unknown): Json {
  const sealed = textAt(delta, "redactedContent");
  if (sealed !== "") return { redactedContent: sealed };
  const of = (key: string): string => textAt(thought, "reasoningText", key) + textAt(delta, key);
  return { reasoningText: { text: of("text"), signature: of("signature") } };
}

/** `inputTokens` leaves out what was read from a cache and written to one. */
function usageOf(usage: unknown): Usage | null {
  if (typeof usage !== "object" || usage === null) return null;
  const read = numberAt(usage, "cacheReadInputTokens");
  const written = numberAt(usage, "cacheWriteInputTokens");
  const hour = listAt(usage, "cacheDetails").filter((entry) => at(entry, "ttl") === "1h");
  return {
    input_tokens: numberAt(usage, "inputTokens") + read + written,
    cached_input_tokens: read,
    cache_write_tokens: written,
    cache_write_1h_tokens: hour.reduce<number>((sum, entry) => sum + numberAt(entry, "inputTokens"), 0),
    output_tokens: numberAt(usage, "outputTokens"),
    reasoning_tokens: 0,
  };
}
