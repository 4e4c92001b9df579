import type { Call } from "../core/call.ts";
import { type Fields, isObject } from "./field-checks.ts";

/** How much a request asks about, as far as routing by complexity looks. */
export interface PromptSize {
  /** Characters of text in the last message of the user's that holds any. */
  lastMessageChars: number;
  /** Tools it offers. */
  tools: number;
}

/** Where the dialects keep their turns; only one of them is there. */
const TURNS = ["messages", "input", "contents"] as const;

/** Measures a client's request, whatever its dialect: a look at its last turns. Shapes that nobody knows measure 0. */
export function promptSize({ body }: Pick<Call, "body">): PromptSize {
  return { lastMessageChars: lastChars(body), tools: toolsIn(body["tools"]) };
}

function lastChars(body: Fields): number {
  for (const key of TURNS) {
    const turns = body[key];
    if (typeof turns === "string") return turns.length;
    if (!Array.isArray(turns)) continue;
    for (let i = turns.length - 1; i >= 0; i--) {
      const turn: unknown = turns[i];
      if (!isObject(turn) || !isUsers(turn)) continue;
      const chars = textIn(turn["content"] ?? turn["parts"]);
      if (chars > 0) return chars;
    }
    return 0;
  }
  return textIn(body["prompt"]);
}

/** The last message of the user's that holds text, whole; empty when there is none. */
export function lastUserText({ body }: Pick<Call, "body">): string {
  for (const key of TURNS) {
    const turns = body[key];
    if (typeof turns === "string") return turns;
    if (!Array.isArray(turns)) continue;
    const turn: unknown = turns.findLast(
      (one: unknown) => isObject(one) && isUsers(one) && textIn(one["content"] ?? one["parts"]) > 0,
    );
    return isObject(turn) ? textsIn(turn["content"] ?? turn["parts"]).join("\n") : "";
  }
  return textsIn(body["prompt"]).join("\n");
}

function isUsers(turn: Fields): boolean {
  return turn["role"] === "user" || turn["role"] === undefined;
}

function textsIn(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content
    .map((part: unknown) => (isObject(part) ? part["text"] : part))
    .filter((text: unknown) => typeof text === "string");
}

/** A text, or the texts among parts. */
function textIn(content: unknown): number {
  if (typeof content === "string") return content.length;
  if (!Array.isArray(content)) return 0;
  let chars = 0;
  for (const part of content) {
    const text: unknown = isObject(part) ? part["text"] : part;
    if (typeof text === "string") chars += text.length;
  }
  return chars;
}

/** Gemini puts several functions into one tool. */
function toolsIn(tools: unknown): number {
  if (!Array.isArray(tools)) return 0;
  let count = 0;
  for (const tool of tools) {
    const functions: unknown = isObject(tool) ? (tool["functionDeclarations"] ?? tool["function_declarations"]) : null;
    count += Array.isArray(functions) ? functions.length : 1;
  }
  return count;
}
