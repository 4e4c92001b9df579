import type { Usage } from "@sluicegate/contract";
import { at, type Json, listAt, numberAt, payloadsOf, textAt } from "./loose-json.ts";
import { finishOf, meant, type Reply, silent, unwrapped } from "./said.ts";

const WORDS: Record<string, string> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** An Anthropic message, whole or put together from its events. */
export function readMessages(bytes: Buffer, stream: boolean): Reply {
  const text = bytes.toString("utf8");
  const message = stream ? assembled(payloadsOf(text)) : (JSON.parse(text) as Json);
  const said = silent();
  for (const block of listAt(message, "content")) {
    const type = textAt(block, "type");
    if (type === "text") said.text += textAt(block, "text");
    if (type === "thinking") {
      said.reasoning += textAt(block, "thinking");
      if (textAt(block, "signature") !== "") said.proofs.push(unwrapped(textAt(block, "signature")));
    }
    if (type === "redacted_thinking") said.proofs.push(unwrapped(textAt(block, "data")));
    if (type === "tool_use") said.calls.push({ name: textAt(block, "name"), arguments: at(block, "input") });
  }
  said.finish = finishOf(at(message, "stop_reason"), WORDS, said.calls.length > 0);
  return {
    choices: [said],
    usage: messagesUsage(at(message, "usage")),
    model: textAt(message, "model") || null,
  };
}

/** The message that the events of a stream come to. Some recordings hold several: the first counts. */
export function assembled(events: Json[]): Json {
  const blocks: Json[] = [];
  const pieces = new Map<Json, string>();
  let message: Json = {};
  for (const event of events) {
    const type = textAt(event, "type");
    if (type === "message_start") message = { ...(event["message"] as Json) };
    if (type === "content_block_start") blocks[numberAt(event, "index")] = { ...(event["content_block"] as Json) };
    const block = blocks[numberAt(event, "index")];
    if (type === "content_block_delta" && block) addDelta(block, event["delta"], pieces);
    if (type === "message_delta") {
      message["stop_reason"] = at(event, "delta", "stop_reason");
      // Cumulative, field by field: null says nothing.
      const later = Object.entries((event["usage"] ?? {}) as Json).filter(([, value]) => value !== null);
      message["usage"] = { ...(message["usage"] as Json), ...Object.fromEntries(later) };
    }
    if (type === "message_stop") break;
  }
  for (const [block, text] of pieces) block["input"] = meant(text);
  return { ...message, content: blocks };
}

function addDelta(block: Json, delta: unknown, pieces: Map<Json, string>): void {
  if (at(delta, "text") !== undefined) block["text"] = textAt(block, "text") + textAt(delta, "text");
  if (at(delta, "thinking") !== undefined) block["thinking"] = textAt(block, "thinking") + textAt(delta, "thinking");
  if (at(delta, "signature") !== undefined)
    block["signature"] = textAt(block, "signature") + textAt(delta, "signature");
  if (textAt(delta, "partial_json") !== "")
    pieces.set(block, (pieces.get(block) ?? "") + textAt(delta, "partial_json"));
}

/** `input_tokens` leaves both cache counts out; the hour's writes are inside the writes. */
function messagesUsage(usage: unknown): Usage | null {
  if (typeof usage !== "object" || usage === null) return null;
  const read = numberAt(usage, "cache_read_input_tokens");
  const written = numberAt(usage, "cache_creation_input_tokens");
  const compactions = listAt(usage, "iterations").filter((entry) => at(entry, "type") === "compaction");
  const extra = (key: string): number => compactions.reduce<number>((sum, entry) => sum + numberAt(entry, key), 0);
  return {
    input_tokens: numberAt(usage, "input_tokens") + read + written + extra("input_tokens"),
    cached_input_tokens: read,
    cache_write_tokens: written,
    cache_write_1h_tokens: numberAt(usage, "cache_creation", "ephemeral_1h_input_tokens"),
    output_tokens: numberAt(usage, "output_tokens") + extra("output_tokens"),
    reasoning_tokens: numberAt(usage, "output_tokens_details", "thinking_tokens"),
  };
}
