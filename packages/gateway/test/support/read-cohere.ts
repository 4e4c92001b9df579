import type { Usage } from "@sluicegate/contract";
import { at, type Json, listAt, numberAt, payloadsOf, textAt } from "./loose-json.ts";
import { finishOf, meant, type Reply, silent } from "./said.ts";

const WORDS: Record<string, string> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  MAX_TOKENS: "length",
  TOOL_CALL: "tool_calls",
  ERROR: "error",
  TIMEOUT: "error",
};

/** An answer of Cohere's v2 chat, whole or put together from its events: the plan is text before the calls. */
export function readCohere(bytes: Buffer, stream: boolean): Reply {
  const text = bytes.toString("utf8");
  const answer = stream ? assembled(payloadsOf(text)) : (JSON.parse(text) as Json);
  const said = silent();
  for (const piece of listAt(answer, "message", "content")) {
    said.text += textAt(piece, "text");
    said.reasoning += textAt(piece, "thinking");
  }
  said.text += textAt(answer, "message", "tool_plan");
  for (const call of listAt(answer, "message", "tool_calls")) {
    const given = meant(textAt(call, "function", "arguments"));
    said.calls.push({ name: textAt(call, "function", "name"), arguments: given ?? {} });
  }
  said.finish = finishOf(at(answer, "finish_reason"), WORDS, said.calls.length > 0);
  return { choices: [said], usage: billed(at(answer, "usage")), model: null };
}

function assembled(events: readonly Json[]): Json {
  const message = { content: [] as Json[], tool_plan: "", tool_calls: [] as Json[] };
  const answer: Json = { message };
  for (const event of events) {
    const delta = at(event, "delta", "message");
    if (event["type"] === "content-delta") message.content.push(at(delta, "content") as Json);
    if (event["type"] === "tool-plan-delta") message.tool_plan += textAt(delta, "tool_plan");
    if (event["type"] === "tool-call-start") message.tool_calls.push(structuredClone(at(delta, "tool_calls")) as Json);
    const given = at(message.tool_calls.at(-1), "function") as Json | undefined;
    if (event["type"] === "tool-call-delta" && given) {
      given["arguments"] = `${given["arguments"]}${textAt(delta, "tool_calls", "function", "arguments")}`;
    }
    if (event["type"] === "message-end") Object.assign(answer, event["delta"]);
  }
  return answer;
}

/** What is billed is what counts (ruling 11): the tokens beside it are Cohere's own, and so is what of them was cached. */
function billed(usage: unknown): Usage | null {
  if (at(usage, "billed_units") === undefined) return null;
  return {
    input_tokens: numberAt(usage, "billed_units", "input_tokens"),
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: numberAt(usage, "billed_units", "output_tokens"),
    reasoning_tokens: 0,
  };
}
