import type { Usage } from "@sluicegate/contract";
import { at, type Json, listAt, numberAt, payloadsOf, textAt } from "./loose-json.ts";
import { finishOf, meant, type Reply, silent, unwrapped } from "./said.ts";

const ENDS = new Set(["response.completed", "response.incomplete", "response.failed"]);
const WORDS: Record<string, string> = {
  completed: "stop",
  max_output_tokens: "length",
  content_filter: "content_filter",
  failed: "error",
};

/** A response object, or the one in the last event of a stream. Some recordings hold several streams: the first counts. */
export function readResponses(bytes: Buffer, stream: boolean): Reply {
  const text = bytes.toString("utf8");
  const response = stream ? lastOf(payloadsOf(text)) : (JSON.parse(text) as Json);
  const said = silent();
  for (const item of listAt(response, "output")) {
    const type = textAt(item, "type");
    const content = listAt(item, "content");
    if (type === "message") {
      for (const part of content) {
        said.text += textAt(part, "text");
        said.refusal += textAt(part, "refusal");
      }
    }
    if (type === "reasoning") {
      for (const piece of [...listAt(item, "summary"), ...content]) said.reasoning += textAt(piece, "text");
      if (textAt(item, "encrypted_content") !== "") said.proofs.push(unwrapped(textAt(item, "encrypted_content")));
    }
    if (type === "function_call")
      said.calls.push({ name: textAt(item, "name"), arguments: meant(textAt(item, "arguments")) });
    if (type === "custom_tool_call")
      said.calls.push({ name: textAt(item, "name"), arguments: { input: textAt(item, "input") } });
  }
  const word = at(response, "incomplete_details", "reason") ?? at(response, "status");
  said.finish = finishOf(word, WORDS, said.calls.length > 0);
  return {
    choices: [said],
    usage: responsesUsage(at(response, "usage")),
    model: textAt(response, "model") || null,
  };
}

/** The response at the end, with its items as their own events left them: OpenAI seals thoughts anew in the last event. */
function lastOf(events: Json[]): Json {
  const end = events.findIndex((event) => ENDS.has(textAt(event, "type")));
  const response = (events[end]?.["response"] ?? {}) as Json;
  const before = events.slice(0, end);
  const done = before.filter((event) => event["type"] === "response.output_item.done");
  return done.length === 0 ? response : { ...response, output: done.map((event) => streamedItem(event, before)) };
}

/** A finished item; a message's text is what was streamed of it, and what the whole has beyond that. */
function streamedItem(event: Json, events: Json[]): unknown {
  const item = event["item"] as Json;
  const deltas = events.filter(
    (other) => other["type"] === "response.output_text.delta" && other["output_index"] === event["output_index"],
  );
  if (deltas.length === 0) return item;
  const streamed = deltas.map((delta) => textAt(delta, "delta")).join("");
  const whole = listAt(item, "content").map((part) => textAt(part, "text"));
  return { ...item, content: [{ text: streamed + whole.join("").slice(streamed.length) }] };
}

function responsesUsage(usage: unknown): Usage | null {
  if (typeof usage !== "object" || usage === null) return null;
  return {
    input_tokens: numberAt(usage, "input_tokens"),
    cached_input_tokens: numberAt(usage, "input_tokens_details", "cached_tokens"),
    cache_write_tokens: numberAt(usage, "input_tokens_details", "cache_write_tokens"),
    cache_write_1h_tokens: 0,
    output_tokens: numberAt(usage, "output_tokens"),
    reasoning_tokens: numberAt(usage, "output_tokens_details", "reasoning_tokens"),
  };
}
