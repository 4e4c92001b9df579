import type { Capability } from "../core/call.ts";
import { GatewayError } from "../core/errors.ts";
import { type Fields, isAbsent, isObject, missingField, wrongField } from "./field-checks.ts";

/** What the messages of a request tell about it. */
export interface MessageFacts {
  needs: Set<Capability>;
  holdsToolResults: boolean;
  /** Characters of base64 data inside the messages: they are not text tokens. */
  inlineDataChars: number;
}

/** What is known of the messages while they are read. */
export interface Reading extends MessageFacts {
  /** Ids of the calls that have been made so far; null: none has. */
  callIds: Set<string> | null;
}

/** Checks one message; `index` is where it stands. */
export type MessageCheck = (message: Fields, role: string, index: number, reading: Reading) => void;

/** The path of a message: made where something is wrong with it, or there is much in it. */
export function messagePath(index: number): string {
  return `messages[${index}]`;
}

/** Notes that a call was made. */
export function addCallId(id: unknown, reading: Reading): void {
  if (typeof id !== "string") return;
  reading.callIds ??= new Set();
  reading.callIds.add(id);
}

/**
 * Checks a `messages` array, one after the other with `check`, and tells what they need. Throws invalid_request with the path
 * of what is wrong. `roles` is what a message without one is told to send.
 */
export function readEach(messages: unknown, roles: string, check: MessageCheck): MessageFacts {
  const want = "an array with at least one message";
  if (isAbsent(messages)) throw missingField("messages", want);
  if (!Array.isArray(messages)) throw wrongField("messages", "an array");
  if (messages.length === 0) throw wrongField("messages", want);
  const reading: Reading = { needs: new Set(), holdsToolResults: false, inlineDataChars: 0, callIds: null };
  for (let i = 0; i < messages.length; i++) {
    const message: unknown = messages[i];
    if (!isObject(message)) throw wrongField(messagePath(i), "an object with role and content");
    const role = message["role"];
    if (isAbsent(role)) throw missingField(`${messagePath(i)}.role`, roles);
    if (typeof role !== "string") throw wrongField(`${messagePath(i)}.role`, "a string");
    check(message, role, i, reading);
  }
  return reading;
}

/** Checks the id in a tool's result. Throws invalid_request, naming it, where no call before it has that id. */
export function checkAnswer(id: unknown, path: string, what: string, reading: Reading): void {
  reading.holdsToolResults = true;
  if (isAbsent(id)) throw missingField(path, `the id of the call this ${what} answers`);
  if (typeof id !== "string") throw wrongField(path, "a string");
  if (reading.callIds?.has(id)) return;
  const quoted = JSON.stringify(id.slice(0, 80));
  throw new GatewayError("invalid_request", `${path} ${quoted} answers no tool call of an earlier assistant message`, {
    param: path,
  });
}
