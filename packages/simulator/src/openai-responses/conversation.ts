import type { Heard, HeardKind } from "../models/mirror.ts";
import { tokensOfBytes } from "../models/text.ts";
import type { Content } from "./content.ts";

/** What one image, sound or file is counted as. */
const MEDIA_TOKENS = 85;

/** A conversation while its items are read. */
export interface Conversation {
  bytes: number;
  media: number;
  /** Text of the last user message. */
  text: string;
  /** The last tool output while nothing but reasoning follows it. */
  toolResult: string | null;
  readonly system: string[];
  readonly messages: { role: string; kinds: HeardKind[] }[];
  readonly results: Heard["tool_results"][number][];
  readonly images: string[];
  /** Every call by its call id, and those that have no output yet. */
  readonly calls: Map<string, string>;
  readonly pending: Map<string, string>;
}

/** A conversation in which nothing was said. */
export function emptyConversation(): Conversation {
  return {
    bytes: 0,
    media: 0,
    text: "",
    toolResult: null,
    system: [],
    messages: [],
    results: [],
    images: [],
    calls: new Map(),
    pending: new Map(),
  };
}

/** Notes a message, or the output of a tool under the role `tool`. */
export function hear(talk: Conversation, role: string, { text, kinds, images, media }: Content): void {
  talk.bytes += Buffer.byteLength(text);
  talk.media += media;
  talk.images.push(...images);
  if (role === "system" || role === "developer") {
    talk.system.push(text);
    return;
  }
  if (role === "user") talk.text = text;
  talk.toolResult = role === "tool" ? text : null;
  if (role === "assistant") speak(talk, kinds);
  else talk.messages.push({ role, kinds: [...kinds] });
}

/** Notes something the assistant did beside its messages. */
export function said(talk: Conversation, kind: HeardKind, text: string): void {
  talk.bytes += Buffer.byteLength(text);
  if (kind !== "reasoning") talk.toolResult = null;
  speak(talk, [kind]);
}

/** What the assistant does in a row is one message of it. */
function speak(talk: Conversation, kinds: readonly HeardKind[]): void {
  const last = talk.messages.at(-1);
  if (last?.role === "assistant") last.kinds.push(...kinds);
  else talk.messages.push({ role: "assistant", kinds: [...kinds] });
}

/** Tokens of all that was said. */
export function tokensOf({ bytes, media }: Conversation): number {
  return tokensOfBytes(bytes) + media * MEDIA_TOKENS;
}
