import { at, type Json, listAt, textAt } from "./loose-json.ts";

/*
 * Is a stream as its dialect's clients expect it, event by event (WIRE A1.4, A3.3, B4)? Each check throws at the first event
 * that is out of place. The Responses dialect has a file of its own.
 */

/** Throws unless `holds`. */
export function orderly(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`event order: ${what}`);
}

/** One event of a stream: its name, if it has one, and its payload. */
export interface NamedEvent {
  name: string | null;
  data: string;
}

/** All events of a stream; a line that is none of `event:`, `data:`, comment or blank throws. */
export function namedEvents(text: string): NamedEvent[] {
  orderly(/(?:\r\n\r\n|\n\n)$/.test(text), "the stream ends with a blank line");
  return text
    .split(/\r\n\r\n|\n\n/)
    .filter((block) => block !== "")
    .map((block) => {
      const lines = block.split(/\r\n|\n/);
      for (const line of lines) orderly(/^(?:event: |data: |:)/.test(line), `a stray line ${JSON.stringify(line)}`);
      const name = lines.find((line) => line.startsWith("event: "))?.slice("event: ".length) ?? null;
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice("data: ".length));
      return { name, data: data.join("\n") };
    });
}

/** Chunks of one id: the role first, text, one finish reason for each choice, then usage, then the end mark. */
export function chatOrder(text: string): void {
  const events = namedEvents(text);
  orderly(events.pop()?.data === "[DONE]", "[DONE] is last");
  const chunks = events.map(({ data }) => JSON.parse(data) as Json);
  orderly(chunks.length > 0, "there are chunks");
  orderly(new Set(chunks.map((chunk) => chunk["id"])).size === 1, "one id");
  orderly(new Set(chunks.map((chunk) => chunk["model"])).size === 1, "one model");
  const last = chunks.at(-1);
  if (last && listAt(last, "choices").length === 0) {
    orderly(typeof at(last, "usage", "total_tokens") === "number", "the last chunk without choices has the usage");
    chunks.pop();
  }
  const begun = new Set<unknown>();
  const finished = new Set<unknown>();
  const calls = new Map<string, Set<unknown>>();
  for (const chunk of chunks) {
    orderly(chunk["object"] === "chat.completion.chunk", "it is a chunk");
    orderly((chunk["usage"] ?? null) === null, "usage is told at the end");
    const [choice, ...more] = listAt(chunk, "choices");
    orderly(choice !== undefined && more.length === 0, "one choice a chunk");
    const index = at(choice, "index");
    orderly(!finished.has(index), `nothing behind the finish reason of ${index}`);
    orderly(begun.has(index) !== (textAt(choice, "delta", "role") === "assistant"), "the role comes first, and once");
    begun.add(index);
    for (const call of listAt(choice, "delta", "tool_calls")) callOrder(calls, index, call);
    if (at(choice, "finish_reason")) finished.add(index);
  }
  orderly(begun.size === finished.size, "every choice has its finish reason");
}

function callOrder(calls: Map<string, Set<unknown>>, choice: unknown, call: unknown): void {
  const known = calls.get(String(choice)) ?? new Set();
  calls.set(String(choice), known);
  const index = at(call, "index");
  const opens = at(call, "id") !== undefined;
  orderly(opens !== known.has(index), "a call is named once, in its first piece");
  if (!opens) return;
  orderly(index === known.size, "calls are numbered in their order");
  orderly(
    textAt(call, "id") !== "" && textAt(call, at(call, "custom") ? "custom" : "function", "name") !== "",
    "a call has id and name",
  );
  known.add(index);
}

const DELTAS: Record<string, string[]> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
};

/** message_start, blocks one behind the other, message_delta, message_stop. */
export function messagesOrder(text: string): void {
  let state: "before" | "inside" | "told" | "over" = "before";
  let next = 0;
  let open: { index: number; type: string; signed: boolean } | null = null;
  for (const { name, data } of namedEvents(text)) {
    const event = JSON.parse(data) as Json;
    const type = textAt(event, "type");
    orderly(type === name, `event ${name} is of type ${type}`);
    if (type === "ping") continue;
    orderly(state !== "over", `${type} behind message_stop`);
    if (type === "message_start") {
      orderly(state === "before", "one message_start");
      messageStart(event["message"]);
      state = "inside";
    } else if (type === "content_block_start") {
      orderly(state === "inside" && open === null && event["index"] === next, `block ${next} opens in its turn`);
      open = { index: next++, type: textAt(event, "content_block", "type"), signed: false };
    } else if (type === "content_block_delta") {
      orderly(open !== null && event["index"] === open.index, "a delta is of the open block");
      const delta = textAt(event, "delta", "type");
      orderly((DELTAS[open.type] ?? []).includes(delta), `${delta} in a block of type ${open.type}`);
      orderly(!open.signed, "nothing behind a signature");
      open.signed = delta === "signature_delta";
    } else if (type === "content_block_stop") {
      orderly(open !== null && event["index"] === open.index, "the open block is closed");
      orderly(open.type !== "thinking" || open.signed, "thoughts are signed");
      open = null;
    } else if (type === "message_delta") {
      orderly(state === "inside" && open === null, "message_delta behind the blocks");
      orderly(textAt(event, "delta", "stop_reason") !== "", "it has a stop reason");
      orderly(typeof at(event, "usage", "output_tokens") === "number", "it has the usage");
      state = "told";
    } else {
      orderly(type === "message_stop" && state === "told", `${type} where ${state}`);
      state = "over";
    }
  }
  orderly(state === "over", "message_stop is last");
}

function messageStart(message: unknown): void {
  orderly(textAt(message, "id").startsWith("msg_"), "the message has an id");
  orderly(at(message, "role") === "assistant" && at(message, "type") === "message", "it is the assistant's");
  orderly(listAt(message, "content").length === 0 && at(message, "stop_reason") === null, "it is empty");
  orderly(typeof at(message, "usage", "input_tokens") === "number", "it has a usage");
}

/** Events or one array: response objects of one id, a finish reason only at the end of each candidate. */
export function geminiOrder(text: string, framing: "sse" | "array"): void {
  const responses =
    framing === "sse" ? namedEvents(text).map(({ data }) => JSON.parse(data) as Json) : (JSON.parse(text) as Json[]);
  orderly(responses.length > 0, "there are responses");
  orderly(new Set(responses.map((response) => response["responseId"])).size === 1, "one id");
  const finished = new Set<unknown>();
  const begun = new Set<unknown>();
  for (const response of responses) {
    orderly(textAt(response, "modelVersion") !== "", "every response names the model");
    for (const candidate of listAt(response, "candidates")) {
      const index = at(candidate, "index") ?? 0;
      orderly(!finished.has(index), "nothing behind a finish reason");
      begun.add(index);
      orderly(at(candidate, "content", "role") === "model", "content is the model's");
      for (const part of listAt(candidate, "content", "parts")) geminiPart(part);
      if (at(candidate, "finishReason") !== undefined) finished.add(index);
    }
  }
  orderly(begun.size > 0 && begun.size === finished.size, "every candidate has its finish reason");
}

function geminiPart(part: unknown): void {
  const call = at(part, "functionCall");
  if (call === undefined) return;
  orderly(textAt(call, "name") !== "" && typeof at(call, "args") === "object", "a call has name and arguments");
}
