import type { Block, ForeignField, Message, ToolCallBlock, ToolResultBlock } from "../../core/message.ts";
import { madeCallId } from "../call-ids.ts";
import { type Fields, isAbsent, isObject, wordOf, wrongField } from "../field-checks.ts";
import { parsedArguments } from "../tool-arguments.ts";
import { cacheOf, readContent } from "./canonical-content.ts";
import { googleSignature, readReasoning } from "./reasoning.ts";
import { customPart } from "./tool-calls.ts";

const CHAT = "openai-chat";

/** What is known of the conversation while it is read. */
interface History {
  calls: Map<string, ToolCallBlock>;
  /** Ids made for the older `function_call`s that no result has answered, by name. */
  unanswered: Map<string, string[]>;
  foreign: ForeignField[];
}

/** The conversation in canonical form, and what of it has no place there. Its shapes have been checked. */
export function canonicalMessages(messages: readonly unknown[]): { messages: Message[]; foreign: ForeignField[] } {
  const history: History = { calls: new Map(), unanswered: new Map(), foreign: [] };
  const read = messages.map((message, index) => readMessage(message, index, history));
  return { messages: read, foreign: history.foreign };
}

function readMessage(message: unknown, index: number, history: History): Message {
  const path = `messages[${index}]`;
  if (!isObject(message)) throw wrongField(path, "an object with role and content");
  const role = message["role"];
  const name = typeof message["name"] === "string" && message["name"] !== "" ? { name: message["name"] } : {};
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", ...name, blocks: marked(readContent(message["content"], path), message) };
    case "user":
      return { role, ...name, blocks: marked(readContent(message["content"], path), message) };
    case "assistant":
      return { role, ...name, blocks: marked(readAssistant(message, index, history), message) };
    case "tool":
    case "function":
      return { role: "tool", blocks: [readResult(message, role, path, history)] };
    default:
      throw wrongField(`${path}.role`, "system, developer, user, assistant or tool");
  }
}

/** A marker on the message itself holds up to its end. */
function marked(blocks: Block[], message: Fields): Block[] {
  const { cache } = cacheOf(message);
  const last = blocks.at(-1);
  if (!cache || !last || last.type === "reasoning" || last.type === "refusal" || last.type === "opaque") return blocks;
  last.cache ??= cache;
  return blocks;
}

function readAssistant(message: Fields, index: number, history: History): Block[] {
  const path = `messages[${index}]`;
  const calls = readCalls(message, index);
  const { blocks: thoughts, calls: signatures } = readReasoning(message, new Set(calls.map((call) => call.id)));
  for (const call of calls) {
    const signature = call.signature ?? signatures.get(call.id);
    if (signature) call.signature = signature;
    history.calls.set(call.id, call);
  }
  const older = message["function_call"];
  if (isObject(older) && typeof older["name"] === "string" && older["name"] !== "" && calls.length === 0) {
    const call = readOlderCall(older, older["name"], index);
    history.calls.set(call.id, call);
    history.unanswered.set(call.name, [...(history.unanswered.get(call.name) ?? []), call.id]);
    calls.push(call);
  }
  const blocks: Block[] = [...thoughts, ...readContent(message["content"], path)];
  if (typeof message["refusal"] === "string" && message["refusal"] !== "") {
    blocks.push({ type: "refusal", text: message["refusal"] });
  }
  if (isObject(message["audio"])) {
    blocks.push({ type: "opaque", dialect: CHAT, path: `${path}.audio`, value: { audio: message["audio"] } });
  }
  // The answer has to go on from these words (Mistral, DeepSeek).
  if (message["prefix"] === true) history.foreign.push({ path: `${path}.prefix`, meaning: true });
  return [...blocks, ...calls];
}

function readCalls(message: Fields, index: number): ToolCallBlock[] {
  const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isObject) : [];
  return calls.map((call, position): ToolCallBlock => {
    const custom = customPart(call);
    const named = custom ?? (isObject(call["function"]) ? call["function"] : {});
    const name = typeof named["name"] === "string" ? named["name"] : "";
    const given = custom ? custom["input"] : named["arguments"];
    const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : madeCallId(index, position, name);
    const signature = googleSignature(call);
    return {
      type: "tool_call",
      id,
      name,
      ...(custom ? { text: textOf(given), custom: true } : functionCall(given)),
      ...(signature && { signature }),
      ...cacheOf(call),
    };
  });
}

function readOlderCall(call: Fields, name: string, index: number): ToolCallBlock {
  return { type: "tool_call", id: madeCallId(index, 0, name), name, ...functionCall(call["arguments"]) };
}

function functionCall(given: unknown): Pick<ToolCallBlock, "arguments" | "text"> {
  const text = textOf(given);
  const parsed = parsedArguments(text);
  return { ...(parsed && { arguments: parsed }), text };
}

/** Arguments as text: a string as a rule, the object itself from some. */
function textOf(given: unknown): string {
  if (typeof given === "string") return given;
  return isAbsent(given) ? "" : JSON.stringify(given);
}

function readResult(message: Fields, role: "tool" | "function", path: string, history: History): ToolResultBlock {
  const callId = role === "tool" ? wordOf(message["tool_call_id"]) : olderCallId(message, path, history);
  const call = history.calls.get(callId);
  const content: ToolResultBlock["content"] = [];
  for (const [index, block] of readContent(message["content"], path).entries()) {
    if (block.type === "text" || block.type === "image" || block.type === "document") content.push(block);
    else history.foreign.push({ path: `${path}.content[${index}]`, meaning: true });
  }
  return {
    type: "tool_result",
    callId,
    name: call?.name ?? null,
    content,
    isError: false,
    ...(call?.custom && { custom: true }),
    ...cacheOf(message),
  };
}

/** The oldest call of that name that nothing has answered yet. */
function olderCallId(message: Fields, path: string, { unanswered }: History): string {
  const name = message["name"];
  const id = typeof name === "string" ? unanswered.get(name)?.shift() : undefined;
  if (id === undefined)
    throw wrongField(`${path}.name`, "the name of a function that an earlier assistant message calls");
  return id;
}
