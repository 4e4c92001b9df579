import type {
  Block,
  CacheMarker,
  CanonicalRequest,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { type Fields, wordOf } from "../field-checks.ts";
import type { Target } from "../protocol.ts";
import { sentToolName } from "../tool-names.ts";
import { answersNothing } from "../turns.ts";
import { encodePart } from "./encode-content.ts";
import { takes } from "./expressible.ts";
import { callDetail, detailsOf, googleContent, isKnownMaker } from "./reasoning.ts";

/** The conversation as this target takes it, and what could not be said (into `dropped`). */
export function encodeMessages(request: CanonicalRequest, target: Target, dropped: Set<string>): Fields[] {
  const writer = new MessageWriter(target, dropped);
  for (const message of request.messages) {
    const named = message.name === undefined ? {} : { name: message.name };
    if (message.role !== "tool") writer.endResults();
    if (message.role === "assistant") writer.assistant(message.blocks, named);
    else if (message.role === "tool") writer.results(message.blocks);
    else writer.spoken(message.role, message.blocks, named);
  }
  writer.endResults();
  return writer.messages;
}

/** Writes one conversation: what results show has to wait until their run is over. */
class MessageWriter {
  readonly messages: Fields[] = [];
  readonly #target: Target;
  readonly #dropped: Set<string>;
  readonly #callIds = new Set<string>();
  /** Parts of the user message that shows what tools returned besides text. */
  #shown: Fields[] = [];

  constructor(target: Target, dropped: Set<string>) {
    this.#target = target;
    this.#dropped = dropped;
  }

  spoken(role: "system" | "user", blocks: readonly Block[], named: Fields): void {
    const parts = this.#parts(blocks);
    if (parts.length > 0) this.messages.push({ role, ...named, content: this.#content(parts) });
  }

  assistant(blocks: readonly Block[], named: Fields): void {
    const calls = blocks.filter((block) => block.type === "tool_call");
    const texts = blocks.filter((block): block is TextBlock => block.type === "text");
    const refusals = blocks.flatMap((block) => (block.type === "refusal" ? [block.text] : []));
    const rest = blocks.flatMap((block) => (block.type === "opaque" ? [block] : []));
    const members: Fields = {};
    for (const block of rest) {
      // What only this dialect can say stands beside the content (`audio`) or in it.
      if (block.dialect !== "openai-chat") this.#dropped.add(block.path);
      else if (block.path.endsWith(".audio")) Object.assign(members, block.value);
    }
    for (const call of calls) this.#callIds.add(call.id);
    const thoughts = this.#thoughts(blocks, calls);
    // A call has no place for a marker; the end of its message has.
    const marker = calls.findLast((call) => call.cache)?.cache;
    if (marker) Object.assign(members, this.#marked(marker));
    if (texts.length === 0 && refusals.length === 0 && calls.length === 0 && Object.keys(members).length === 0) return;
    this.messages.push({
      role: "assistant",
      ...named,
      content: this.#answerText(texts),
      ...(refusals.length > 0 && { refusal: refusals.join("") }),
      ...members,
      ...thoughts,
      ...(calls.length > 0 && { tool_calls: calls.map((call) => this.#call(call)) }),
    });
  }

  results(blocks: readonly Block[]): void {
    for (const block of blocks) if (block.type === "tool_result") this.#result(block);
  }

  /** Called before whatever follows a run of results: the pictures in them come as the user's. */
  endResults(): void {
    if (this.#shown.length === 0) return;
    this.messages.push({ role: "user", content: this.#shown });
    this.#shown = [];
  }

  #parts(blocks: readonly Block[]): Fields[] {
    return blocks.map((block) => this.#part(block)).filter((part) => part !== null);
  }

  #part(block: Block): Fields | null {
    const part = encodePart(block, this.#target, this.#dropped);
    if (!part || !("cache" in block) || !block.cache) return part;
    return { ...part, ...this.#marked(block.cache) };
  }

  #marked(cache: CacheMarker): Fields {
    if (takes(this.#target, "cache_control")) return { cache_control: cacheControl(cache) };
    this.#dropped.add("cache_control");
    return {};
  }

  /** One plain text where that says all; arrays of text only for those who are known to read them. */
  #content(parts: readonly Fields[]): unknown {
    const [only] = parts;
    if (parts.length === 1 && only && isPlainText(only)) return only["text"];
    const joins = !takes(this.#target, "text_parts") && parts.every(isPlainText);
    return joins ? parts.map((part) => part["text"]).join("\n\n") : parts;
  }

  /** An answer is one text: where it was several blocks, they followed each other without a gap. */
  #answerText(texts: readonly TextBlock[]): unknown {
    if (texts.length === 0) return null;
    const parts = this.#parts(texts);
    return parts.every(isPlainText) ? texts.map(({ text }) => text).join("") : parts;
  }

  #call(call: ToolCallBlock): Fields {
    const { id, text, custom, signature } = call;
    const name = sentToolName(call.name);
    const extra =
      signature && takes(this.#target, "google_signatures") && signature.dialect === "gemini-generate"
        ? { extra_content: googleContent(signature) }
        : {};
    if (custom && takes(this.#target, "custom_tools"))
      return { id, type: "custom", custom: { name, input: text }, ...extra };
    const given = custom
      ? JSON.stringify({ input: text })
      : text.trim() === "" || saysNothing(call)
        ? JSON.stringify(call.arguments ?? {})
        : text;
    return { id, type: "function", function: { name, arguments: given }, ...extra };
  }

  /** Earlier thoughts, as far as this target reads them: text, and signatures for those who know their makers. */
  #thoughts(blocks: readonly Block[], calls: readonly ToolCallBlock[]): Fields {
    const thoughts = blocks.filter((block): block is ReasoningBlock => block.type === "reasoning");
    if (takes(this.#target, "history_reasoning_details")) return this.#details(thoughts, calls);
    const plain = thoughts.filter(({ text, signature, encrypted }) => {
      const foreign = [signature, encrypted].some((each) => each && each.dialect !== "openai-chat");
      return text !== "" && !foreign;
    });
    const member = takes(this.#target, "history_reasoning_content")
      ? "reasoning_content"
      : takes(this.#target, "history_reasoning")
        ? "reasoning"
        : null;
    const signed = calls.some(({ signature }) => signature) && !takes(this.#target, "google_signatures");
    if (signed || plain.length < thoughts.length || (member === null && thoughts.length > 0)) {
      this.#dropped.add("reasoning_history");
    }
    if (member === null || plain.length === 0) return {};
    return { [member]: plain.map(({ text }) => text).join("") };
  }

  #details(thoughts: readonly ReasoningBlock[], calls: readonly ToolCallBlock[]): Fields {
    const knows = (signature: Signature | undefined): boolean => {
      if (!signature || isKnownMaker(signature)) return true;
      this.#dropped.add("reasoning_history");
      return false;
    };
    const entries: Fields[] = [];
    for (const block of thoughts) {
      if (knows(block.signature) && knows(block.encrypted)) entries.push(...detailsOf(block, entries.length));
    }
    for (const { id, signature } of calls) {
      if (signature && knows(signature)) entries.push(callDetail(id, signature, entries.length));
    }
    return entries.length > 0 ? { reasoning_details: entries } : {};
  }

  #result(block: ToolResultBlock): void {
    const { callId, content, isError, cache } = block;
    if (!this.#callIds.has(callId)) throw answersNothing(callId, "an earlier assistant message");
    const parts: Fields[] = [];
    for (const piece of content) {
      const part = this.#part(piece);
      if (!part) continue;
      if (part["type"] === "text") parts.push(part);
      else {
        this.#shown.push({ type: "text", text: `What the tool call ${callId} returned (${piece.type}):` }, part);
        parts.push({ type: "text", text: `[${piece.type}: see the user message that follows]` });
      }
    }
    if (isError) {
      const first = parts[0];
      parts.splice(0, 1, { ...first, type: "text", text: `Error: ${wordOf(first?.["text"])}` });
    }
    const marked = cache ? this.#marked(cache) : {};
    const said = parts.length === 0 ? "" : this.#content(parts);
    this.messages.push({ role: "tool", tool_call_id: callId, content: said, ...marked });
  }
}

/** No arguments, however that was written (`null`). */
function saysNothing(call: ToolCallBlock): boolean {
  return call.arguments !== undefined && Object.keys(call.arguments).length === 0;
}

/** Anthropic's marker, as servers of many vendors take it. */
export function cacheControl({ ttl }: CacheMarker): Fields {
  return { type: "ephemeral", ...(ttl && { ttl }) };
}

function isPlainText(part: Fields): boolean {
  return part["type"] === "text" && part["cache_control"] === undefined;
}
