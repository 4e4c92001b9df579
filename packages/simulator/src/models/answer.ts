import { isObject } from "../json.ts";
import type { Ask, AskTool } from "./ask.ts";
import { minimalInstance } from "./instance.ts";
import type { Draft, Part } from "./plan.ts";
import type { Settings } from "./settings.ts";
import { estimateTokens, fillerPart, textPart } from "./text.ts";

/**
 * The ordinary answer: the tools the request insists on, else JSON where a format asks for it, else the last
 * user message word by word, or `tokens` filler words.
 */
export function answer(ask: Ask, settings: Settings): Draft {
  if (ask.tools.length > 0 && ask.toolChoice.mode === "required") return callTools(ask, settings);
  if (ask.format.kind !== "text") return { parts: [jsonPart(ask)], finish: "stop" };
  return { parts: [plainPart(ask, settings)], finish: "stop", stopWord: stopWordOf(ask, settings) };
}

/** The text that `answer` would give, as one part. */
export function plainPart(ask: Ask, settings: Settings): Part {
  if (settings.tokens !== undefined) return fillerPart("text", settings.tokens);
  return textPart("text", beforeStop(plainText(ask), ask.stop), "words");
}

/** An answer whose text is JSON: the least value that fits the schema, or the user's text in an object. */
export function jsonPart(ask: Ask): Part {
  const value = ask.format.kind === "schema" ? minimalInstance(ask.format.schema) : { answer: ask.text };
  return textPart("text", JSON.stringify(value), "fragments");
}

/** Calls `calls` tools (1 unless set, 1 when parallel calls are off), the named one or the first. */
export function callTools(ask: Ask, settings: Settings): Draft {
  const named = ask.tools.find((tool) => tool.name === ask.toolChoice.name);
  const count = ask.parallelCalls ? (settings.calls ?? 1) : 1;
  const parts: Part[] = [];
  for (let i = 0; i < count; i++) {
    const tool = named ?? ask.tools[i % ask.tools.length];
    if (tool !== undefined) parts.push(callPart(tool, settings, ask.text));
  }
  return { parts, finish: "tool_calls" };
}

function callPart(tool: AskTool, settings: Settings, text: string): Part {
  const made =
    tool.kind === "custom"
      ? text || "ok"
      : JSON.stringify(minimalInstance({ type: "object", ...(isObject(tool.parameters) && tool.parameters) }));
  const input = settings.args ?? made;
  const tokens = estimateTokens(tool.name) + estimateTokens(input);
  const { kind, name, namespace } = tool;
  const call = { kind, name, ...(namespace !== undefined && { namespace }) };
  return { kind: "call", call, text: input, cut: "fragments", tokens };
}

/** The stop word that ends the text of a plain answer first, if any does. */
function stopWordOf(ask: Ask, settings: Settings): string | null {
  if (settings.tokens !== undefined) return null;
  const text = plainText(ask);
  const end = beforeStop(text, ask.stop).length;
  return ask.stop.find((word) => word !== "" && text.startsWith(word, end)) ?? null;
}

function plainText(ask: Ask): string {
  return ask.toolResult ?? (ask.text || "ok");
}

function beforeStop(text: string, stop: readonly string[]): string {
  let end = text.length;
  for (const word of stop) {
    const at = word === "" ? -1 : text.indexOf(word);
    if (at >= 0 && at < end) end = at;
  }
  return text.slice(0, end);
}
