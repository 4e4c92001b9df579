import type { Usage } from "@sluicegate/contract";
import { at, type Json, listAt, numberAt, payloadsOf, textAt } from "./loose-json.ts";
import { finishOf, meant, type Reply, type Said, silent, unwrapped } from "./said.ts";

const WORDS: Record<string, string> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "content_filter",
  error: "error",
};

interface Growing {
  said: Said;
  /** Thoughts as `reasoning_details` tell them: the same once more, where plain text is there too. */
  detailed: string;
  word: unknown;
  calls: { id: unknown; index: unknown; name: string; text: string; custom: boolean }[];
}

/** A chat completion, or its chunks, of whatever server: what it says by the traffic README's notes. */
export function readChat(bytes: Buffer, stream: boolean): Reply {
  const text = bytes.toString("utf8");
  const bodies = stream ? payloadsOf(text) : [JSON.parse(text) as Json];
  const growing = new Map<number, Growing>();
  for (const choice of bodies.flatMap((body) => listAt(body, "choices"))) {
    const index = numberAt(choice, "index");
    let one = growing.get(index);
    if (!one) {
      one = { said: silent(), detailed: "", word: null, calls: [] };
      growing.set(index, one);
    }
    // What follows a finish reason repeats it (OpenRouter).
    if (one.word) continue;
    addMessage(one, at(choice, "delta") ?? at(choice, "message") ?? { content: at(choice, "text") });
    one.word = at(choice, "finish_reason") || null;
  }
  const usages = bodies.map((body) => at(body, "usage")).filter((usage) => typeof usage === "object" && usage !== null);
  return {
    choices: [...growing].sort(([a], [b]) => a - b).map(([, one]) => finished(one)),
    usage: usages.length > 0 ? chatUsage(usages.at(-1)) : null,
    model: bodies.map((body) => textAt(body, "model")).find((model) => model !== "") ?? null,
  };
}

function finished({ said, detailed, word, calls: all }: Growing): Said {
  said.reasoning ||= detailed;
  // Snowflake fills the list with calls of nothing.
  const calls = all.filter(({ name, text }) => name !== "" || text !== "");
  said.calls = calls.map(({ name, text, custom }) => ({ name, arguments: custom ? { input: text } : meant(text) }));
  said.finish = finishOf(word, WORDS, calls.length > 0);
  return said;
}

function addMessage(one: Growing, message: unknown): void {
  const { said, calls } = one;
  const begun = said.text !== "";
  const known = { proofs: said.proofs.length, thoughts: said.reasoning.length + one.detailed.length };
  const content = at(message, "content");
  if (typeof content === "string") said.text += content;
  for (const part of listAt(message, "content")) {
    said.text += textAt(part, "text");
    for (const piece of listAt(part, "thinking")) said.reasoning += textAt(piece, "text");
  }
  said.refusal += textAt(message, "refusal");
  addReasoning(one, message);
  for (const call of listAt(message, "tool_calls")) addCall(said, calls, call);
  const older = at(message, "function_call");
  if (older) addCall(said, calls, { index: 0, function: older });
  const thought = said.reasoning.length + one.detailed.length > known.thoughts;
  if (thought || older || listAt(message, "tool_calls").length > 0) said.late = 0;
  else if (begun && calls.length === 0) said.late += said.proofs.length - known.proofs;
}

function addReasoning(one: Growing, message: unknown): void {
  const { said } = one;
  const details = listAt(message, "reasoning_details");
  one.detailed += details.map((entry) => textAt(entry, "text") + textAt(entry, "summary")).join("");
  said.reasoning += textAt(message, "reasoning_content") || textAt(message, "reasoning");
  for (const entry of details) {
    const proof = textAt(entry, "signature") || textAt(entry, "data");
    if (proof !== "") said.proofs.push(unwrapped(proof));
  }
}

function addCall(said: Said, calls: Growing["calls"], call: unknown): void {
  const index = at(call, "index") ?? at(call, "id");
  const id = at(call, "id") || undefined;
  // Snowflake sends both, and the one that is not meant empty.
  const custom = at(call, "type") === "custom" || at(call, "function") === undefined;
  const given = at(call, custom ? "custom" : "function");
  let entry = calls.findLast((known) => known.index === index);
  // A new id under an index that has had one is a new call.
  if (!entry || (id !== undefined && entry.id !== undefined && id !== entry.id)) {
    entry = { id, index, name: "", text: "", custom };
    calls.push(entry);
  }
  entry.id ??= id;
  entry.name ||= textAt(given, "name");
  const piece = at(given, "arguments") ?? at(given, "input") ?? "";
  entry.text += typeof piece === "string" ? piece : JSON.stringify(piece);
  const proof = textAt(call, "extra_content", "google", "thought_signature");
  if (proof !== "" && !said.proofs.includes(unwrapped(proof))) said.proofs.push(unwrapped(proof));
}

/** OpenAI's own arithmetic: cached and written inside the prompt, reasoning inside the completion. */
function chatUsage(usage: unknown): Usage {
  return {
    input_tokens: numberAt(usage, "prompt_tokens"),
    cached_input_tokens: numberAt(usage, "prompt_tokens_details", "cached_tokens"),
    cache_write_tokens: numberAt(usage, "prompt_tokens_details", "cache_write_tokens"),
    cache_write_1h_tokens: 0,
    output_tokens: numberAt(usage, "completion_tokens"),
    reasoning_tokens: numberAt(usage, "completion_tokens_details", "reasoning_tokens"),
  };
}
