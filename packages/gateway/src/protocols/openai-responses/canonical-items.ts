import { GatewayError } from "../../core/errors.ts";
import type {
  Block,
  DocumentBlock,
  ForeignField,
  ImageBlock,
  Message,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { type Fields, isAbsent, isObject, wordOf } from "../field-checks.ts";
import { pushAll } from "../push-all.ts";
import { unwrapSignature } from "../signature.ts";
import { parsedArguments } from "../tool-arguments.ts";
import { mediaSource } from "./media.ts";
import { offeredTools, TOOL_SEARCH } from "./offered-tools.ts";
import { readSealed, UNSIGNED } from "./seal.ts";
import { flatName } from "./tool-names.ts";

const DIALECT = "openai-responses";
/** Calls of hosted tools whose items say nothing that the answer after them does not: without them a conversation can go on. */
const SILENT = new Set(["web_search_call", "image_generation_call"]);

/** What is known of the conversation while its items are read. */
interface Reading {
  messages: Message[];
  foreign: ForeignField[];
  /** Calls by id: their results want the name. */
  calls: Map<string, ToolCallBlock>;
  /** A part of the conversation lies at the provider: a result may answer a call of there. */
  partial: boolean;
  /** Gemini's signature for the call that comes next. */
  callSignature: Signature | null;
}

/** `instructions` and `input` as messages. Items of one assistant turn are one message, and so are results in a row. */
export function itemMessages(body: Fields, foreign: ForeignField[]): Message[] {
  const reading: Reading = {
    messages: [],
    foreign,
    calls: new Map(),
    partial: !isAbsent(body["previous_response_id"]) || !isAbsent(body["conversation"]),
    callSignature: null,
  };
  const { instructions, input } = body;
  if (typeof instructions === "string" && instructions !== "") {
    reading.messages.push({ role: "system", blocks: [{ type: "text", text: instructions }] });
  }
  if (typeof input === "string") reading.messages.push({ role: "user", blocks: [{ type: "text", text: input }] });
  const items = Array.isArray(input) ? input.filter(isObject) : [];
  if (items.some((item) => item["type"] === "item_reference")) reading.partial = true;
  for (const [index, item] of items.entries()) readItem(item, `input[${index}]`, reading);
  return reading.messages;
}

function readItem(item: Fields, path: string, reading: Reading): void {
  const type = item["type"] ?? "message";
  switch (type) {
    case "message":
      return readMessage(item, path, reading);
    case "function_call":
    case "custom_tool_call":
      return readCall(item, type === "custom_tool_call", reading);
    case "function_call_output":
    case "custom_tool_call_output":
      return readResult(item, type === "custom_tool_call_output", path, reading);
    case "reasoning":
      return readReasoning(item, reading);
    // Its tools are read with the others.
    case "additional_tools":
      return;
    case "item_reference":
      reading.foreign.push({ path, meaning: true });
      return;
    case "tool_search_call":
      if (item["execution"] === "client") return readSearch(item, reading);
      reading.foreign.push({ path, meaning: false });
      return;
    case "tool_search_output":
      if (item["execution"] === "client") return readFound(item, path, reading);
      reading.foreign.push({ path, meaning: false });
      return;
    default:
      if (SILENT.has(wordOf(type))) reading.foreign.push({ path, meaning: false });
      else turn(reading, "assistant").push({ type: "opaque", dialect: DIALECT, path, value: item });
  }
}

function readMessage(item: Fields, path: string, reading: Reading): void {
  const role = item["role"] === "developer" ? "system" : item["role"];
  const blocks = partsOf(item["content"], `${path}.content`);
  if (role === "assistant") pushAll(turn(reading, "assistant"), blocks);
  else if (role === "user" || role === "system") reading.messages.push({ role, blocks });
  else {
    const shown = JSON.stringify(wordOf(role).slice(0, 40));
    throw new GatewayError("invalid_request", `${path}.role ${shown} is none of user, assistant, system, developer`, {
      param: `${path}.role`,
    });
  }
}

function readCall(item: Fields, custom: boolean, reading: Reading): void {
  const text = wordOf(custom ? item["input"] : item["arguments"]);
  const namespace = typeof item["namespace"] === "string" ? item["namespace"] : null;
  const parsed = custom ? undefined : parsedArguments(text);
  const call: ToolCallBlock = {
    type: "tool_call",
    id: wordOf(item["call_id"]),
    name: flatName(wordOf(item["name"]), namespace),
    ...(parsed && { arguments: parsed }),
    text,
    ...(custom && { custom: true as const }),
    ...(reading.callSignature && { signature: reading.callSignature }),
  };
  reading.callSignature = null;
  reading.calls.set(call.id, call);
  turn(reading, "assistant").push(call);
}

/** The client's own search for tools: a call like others. */
function readSearch(item: Fields, reading: Reading): void {
  const query = isObject(item["arguments"]) ? JSON.stringify(item["arguments"]) : wordOf(item["arguments"]);
  readCall({ call_id: item["call_id"], name: TOOL_SEARCH, arguments: query }, false, reading);
}

/** What it found: the tools themselves are offered from here on, the model is told their names. */
function readFound(item: Fields, path: string, reading: Reading): void {
  const found = offeredTools({ input: [item] }).flatMap(({ tool, namespace }) =>
    typeof tool["name"] === "string" ? flatName(tool["name"], namespace) : [],
  );
  const output = found.length === 0 ? "No tools found." : `Found these tools, now callable: ${found.join(", ")}`;
  readResult({ call_id: item["call_id"], output }, false, path, reading);
}

function readResult(item: Fields, custom: boolean, path: string, reading: Reading): void {
  const callId = wordOf(item["call_id"]);
  const call = reading.calls.get(callId);
  if (!call && !reading.partial) {
    throw new GatewayError(
      "invalid_request",
      `${path}.call_id ${JSON.stringify(callId.slice(0, 80))} answers no call of an earlier item`,
      { param: `${path}.call_id` },
    );
  }
  const output = item["output"];
  const blocks = typeof output === "string" ? [text(output)] : partsOf(output, `${path}.output`);
  const result: ToolResultBlock = {
    type: "tool_result",
    callId,
    name: call?.name ?? null,
    content: blocks.filter(isResultBlock),
    isError: false,
    ...(custom && { custom: true as const }),
  };
  const last = reading.messages[reading.messages.length - 1];
  if (last?.role === "tool") last.blocks.push(result);
  else reading.messages.push({ role: "tool", blocks: [result] });
  // What no result can hold elsewhere is not silently lost.
  const lost = blocks.filter((block) => !isResultBlock(block));
  if (lost.length > 0) reading.foreign.push({ path: `${path}.output`, meaning: true });
}

/** Summary and, of open models, the text itself; what is sealed goes back to whom it came from. */
function readReasoning(item: Fields, reading: Reading): void {
  const pieces = [item["summary"], item["content"]].flatMap((list) => (Array.isArray(list) ? list : []));
  const words = pieces.flatMap((piece) => (isObject(piece) && typeof piece["text"] === "string" ? piece["text"] : []));
  const thought = words.filter((word) => word !== "").join("\n\n");
  const sealed = item["encrypted_content"];
  const own = typeof sealed === "string" ? readSealed(sealed).value : "";
  const wrapped = own === "" || own === UNSIGNED ? null : unwrapSignature(own, DIALECT, "encrypted");
  if (wrapped?.on === "call") {
    reading.callSignature = wrapped.signature;
    if (thought !== "") turn(reading, "assistant").push({ type: "reasoning", text: thought });
    return;
  }
  if (thought === "" && !wrapped) return;
  turn(reading, "assistant").push({
    type: "reasoning",
    text: thought,
    ...(wrapped?.on === "text" && { signature: wrapped.signature }),
    ...(wrapped?.on === "encrypted" && { encrypted: wrapped.signature }),
  });
}

/** The blocks of the assistant message that is being read. */
function turn({ messages }: Reading, role: "assistant"): Block[] {
  const last = messages[messages.length - 1];
  if (last?.role === role) return last.blocks;
  const message: Message = { role, blocks: [] };
  messages.push(message);
  return message.blocks;
}

function partsOf(content: unknown, path: string): Block[] {
  if (typeof content === "string") return [text(content)];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part, index) => (isObject(part) ? [blockOf(part, `${path}[${index}]`)] : []));
}

function blockOf(part: Fields, path: string): Block {
  switch (part["type"]) {
    case "input_text":
    case "output_text":
    case "text":
    case "summary_text":
      return text(wordOf(part["text"]));
    case "refusal":
      return { type: "refusal", text: wordOf(part["refusal"]) };
    case "input_image": {
      const source = mediaSource(part["image_url"], part["file_id"]);
      if (!source) break;
      const { detail } = part;
      return { type: "image", source, ...(typeof detail === "string" && detail !== "auto" && { detail }) };
    }
    case "input_file": {
      const title = typeof part["filename"] === "string" ? { title: part["filename"] } : {};
      const source = mediaSource(part["file_data"] ?? part["file_url"], part["file_id"], "application/pdf");
      if (source) return { type: "document", source, ...title };
      break;
    }
    case "input_audio": {
      const audio = isObject(part["input_audio"]) ? part["input_audio"] : {};
      if (typeof audio["data"] !== "string") break;
      const mediaType = `audio/${typeof audio["format"] === "string" ? audio["format"] : "wav"}`;
      return { type: "audio", source: { kind: "base64", data: audio["data"], mediaType } };
    }
  }
  return { type: "opaque", dialect: DIALECT, path, value: part };
}

function text(value: string): TextBlock {
  return { type: "text", text: value };
}

function isResultBlock(block: Block): block is TextBlock | ImageBlock | DocumentBlock {
  return block.type === "text" || block.type === "image" || block.type === "document";
}
