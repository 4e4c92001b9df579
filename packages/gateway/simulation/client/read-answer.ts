import type { ClientDialect } from "./spec.ts";

/** An answer as its client reads it. */
export interface ReadAnswer {
  /** What is wrong with it, by the dialect's own rules. */
  faults: string[];
  text: string;
  finish: string | null;
  usage: { input: number; output: number } | null;
  /** The end mark of the dialect, or the end of a whole answer. */
  complete: boolean;
  /** The error it holds, whole or in-band. */
  error: { code: string | null; type: string | null } | null;
  requestId: string | null;
  pings: number;
}

interface Fields {
  [name: string]: unknown;
}

/** Reads what came, whole or as a stream, in the client's dialect. `open`: it may stop anywhere. */
export function readAnswer(
  dialect: ClientDialect,
  bytes: readonly Buffer[],
  isStream: boolean,
  open: boolean,
): ReadAnswer {
  const read: ReadAnswer = {
    ...{ faults: [], text: "", finish: null, usage: null, complete: false, error: null, requestId: null, pings: 0 },
  };
  const text = Buffer.concat(bytes).toString("utf8");
  if (!isStream) {
    if (open && text === "") return read;
    readWhole(dialect, text, read);
    return read;
  }
  const blocks = text.split("\n\n");
  const rest = blocks.pop() ?? "";
  if (rest !== "" && !open) read.faults.push("the last event has no end");
  for (const block of blocks) readEvent(dialect, block, read);
  return read;
}

function readWhole(dialect: ClientDialect, text: string, read: ReadAnswer): void {
  const body = parse(text);
  if (!body) return void read.faults.push(`no JSON object: ${text.slice(0, 80)}`);
  read.complete = true;
  if (body["error"] !== undefined) return readError(dialect, body, read);
  if (dialect === "openai-chat") {
    const [choice] = list(body["choices"]);
    if (!choice || body["object"] !== "chat.completion") read.faults.push("no chat completion");
    read.text = String(fields(choice?.["message"])["content"] ?? "");
    read.finish = word(choice?.["finish_reason"]);
    readChatUsage(body["usage"], read);
    return;
  }
  if (body["type"] !== "message" || body["role"] !== "assistant") read.faults.push("no message");
  for (const block of list(body["content"])) read.text += String(block["text"] ?? "");
  read.finish = word(body["stop_reason"]);
  readMessagesUsage(body["usage"], read);
}

function readEvent(dialect: ClientDialect, block: string, read: ReadAnswer): void {
  const lines = block.split("\n");
  const named = lines.find((line) => line.startsWith("event: "))?.slice(7) ?? null;
  const data = lines.flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  if (lines.every((line) => line.startsWith(":")) || named === "ping") {
    read.pings++;
    return;
  }
  if (data.length === 0) return void read.faults.push(`an event without data: ${block.slice(0, 80)}`);
  if (read.complete) read.faults.push(`an event behind the end: ${block.slice(0, 80)}`);
  if (dialect === "openai-chat") readChatEvent(data.join("\n"), read);
  else readMessagesEvent(named, data.join("\n"), read);
}

function readChatEvent(data: string, read: ReadAnswer): void {
  if (data === "[DONE]") {
    read.complete = true;
    return;
  }
  const chunk = parse(data);
  if (!chunk) return void read.faults.push(`a chunk that is no JSON object: ${data.slice(0, 80)}`);
  if (read.error) read.faults.push("a chunk behind the error");
  if (chunk["error"] !== undefined) return readError("openai-chat", chunk, read);
  const [choice] = list(chunk["choices"]);
  readChatUsage(chunk["usage"], read);
  if (!choice) return;
  if (read.finish !== null) read.faults.push("a choice behind its finish reason");
  read.text += String(fields(choice["delta"])["content"] ?? "");
  read.finish ??= word(choice["finish_reason"]);
}

function readMessagesEvent(named: string | null, data: string, read: ReadAnswer): void {
  const event = parse(data);
  if (!event) return void read.faults.push(`an event that is no JSON object: ${data.slice(0, 80)}`);
  if (event["type"] !== named) read.faults.push(`event ${named} with type ${String(event["type"])}`);
  if (read.error) read.faults.push("an event behind the error");
  switch (named) {
    case "error":
      readError("anthropic-messages", event, read);
      // Nothing comes behind an error in this dialect.
      read.complete = true;
      return;
    case "message_start":
      return readMessagesUsage(fields(event["message"])["usage"], read);
    case "content_block_delta":
      read.text += String(fields(event["delta"])["text"] ?? "");
      return;
    case "message_delta":
      read.finish ??= word(fields(event["delta"])["stop_reason"]);
      return readMessagesUsage(event["usage"], read);
    case "message_stop":
      read.complete = true;
      return;
  }
}

function readError(dialect: ClientDialect, body: Fields, read: ReadAnswer): void {
  const error = fields(body["error"]);
  read.error = { code: word(error["code"]), type: word(error["type"]) };
  read.requestId = word(dialect === "openai-chat" ? error["request_id"] : body["request_id"]);
  if (read.error.type === null || typeof error["message"] !== "string")
    read.faults.push("an error without its members");
}

function readChatUsage(usage: unknown, read: ReadAnswer): void {
  if (usage === null || usage === undefined) return;
  const given = fields(usage);
  read.usage = { input: Number(given["prompt_tokens"]), output: Number(given["completion_tokens"]) };
}

function readMessagesUsage(usage: unknown, read: ReadAnswer): void {
  if (usage === null || usage === undefined) return;
  const given = fields(usage);
  const before = read.usage ?? { input: 0, output: 0 };
  const input = given["input_tokens"];
  read.usage = {
    input: typeof input === "number" ? input + Number(given["cache_read_input_tokens"] ?? 0) : before.input,
    output: Number(given["output_tokens"] ?? before.output),
  };
}

function parse(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
  } catch {
    return null;
  }
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? (value as Fields[]) : [];
}

function word(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
