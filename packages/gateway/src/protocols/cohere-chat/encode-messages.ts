import type { Block, DocumentBlock, ImageBlock, Message, ReasoningBlock, ToolCallBlock } from "../../core/message.ts";
import { dataUrl } from "../data-url.ts";
import { documentText, documentWords } from "../document-words.ts";
import { argumentsJson } from "../exact-json.ts";
import { argumentsObject } from "../tool-arguments.ts";
import { ToolIds } from "../tool-ids.ts";
import { sentToolName } from "../tool-names.ts";
import { answersNothing } from "../turns.ts";
import type { Wire } from "./wire.ts";

/** A conversation as Cohere takes it. */
export interface Conversation {
  messages: Wire[];
  /** Documents the model is to cite. */
  documents: Wire[];
}

/** What encoding a conversation depends on. */
interface Manner {
  /** Documents may stand beside the conversation; otherwise they are words in it. */
  documents: boolean;
  dropped: Set<string>;
}

/**
 * The messages in Cohere's form. Hints that find no place are added to `dropped`. Throws invalid_request for a result that
 * answers no call.
 */
export function encodeMessages(messages: readonly Message[], manner: Manner): Conversation {
  const writer = new MessageWriter(manner);
  for (const message of messages) writer.add(message);
  return { messages: writer.messages, documents: writer.documents };
}

/** Writes one conversation. */
class MessageWriter {
  readonly messages: Wire[] = [];
  readonly documents: Wire[] = [];
  readonly #manner: Manner;
  readonly #ids = new ToolIds((id) => id);

  constructor(manner: Manner) {
    this.#manner = manner;
  }

  add({ role, name, blocks }: Message): void {
    if (name !== undefined) this.#manner.dropped.add("name");
    if (role === "assistant") return this.#assistant(blocks);
    if (role === "tool") return this.#results(blocks);
    const parts = blocks.flatMap((block) => this.#part(block));
    if (parts.length > 0) this.messages.push({ role, content: contentOf(parts) });
  }

  #assistant(blocks: readonly Block[]): void {
    const calls = blocks.filter((block): block is ToolCallBlock => block.type === "tool_call");
    if (calls.length > 0) this.#ids.turn();
    const words = blocks.flatMap((block) => (block.type === "text" || block.type === "refusal" ? [block.text] : []));
    const text = words.join("");
    const thoughts = blocks.flatMap((block) => (block.type === "reasoning" ? this.#thought(block) : []));
    for (const block of blocks) this.#dropMarks(block);
    // What is said beside calls is their plan, and there is no other place for it.
    const said = text === "" || calls.length > 0 ? [] : [{ type: "text", text }];
    const content = [...thoughts, ...said];
    if (content.length === 0 && calls.length === 0) return;
    this.messages.push({
      role: "assistant",
      ...(content.length > 0 && { content: contentOf(content) }),
      ...(calls.length > 0 && {
        ...(text !== "" && { tool_plan: text }),
        tool_calls: calls.map((call) => this.#call(call)),
      }),
    });
  }

  #call(call: ToolCallBlock): Wire {
    if (call.signature) this.#manner.dropped.add("reasoning_history");
    return {
      id: this.#ids.call(call.id),
      type: "function",
      function: { name: sentToolName(call.name), arguments: argumentsText(call) },
    };
  }

  /** Cohere signs nothing: what was signed is somebody else's. */
  #thought({ text, signature, encrypted }: ReasoningBlock): Wire[] {
    if (text !== "" && !signature && !encrypted) return [{ type: "thinking", thinking: text }];
    this.#manner.dropped.add("reasoning_history");
    return [];
  }

  #results(blocks: readonly Block[]): void {
    for (const block of blocks) {
      if (block.type !== "tool_result") continue;
      const id = this.#ids.result(block.callId);
      if (id === null) throw answersNothing(block.callId, "the assistant message before it");
      const words = block.content.flatMap((inner) => {
        this.#dropMarks(inner);
        if (inner.type === "text") return [inner.text];
        return inner.type === "document" ? [wordsOf(inner)] : [];
      });
      this.#dropMarks(block);
      const text = words.join("\n\n");
      this.messages.push({ role: "tool", tool_call_id: id, content: block.isError ? `Error: ${text}` : text });
    }
  }

  #part(block: Block): Wire[] {
    this.#dropMarks(block);
    if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
    if (block.type === "image") return imagePart(block);
    if (block.type !== "document" || documentText(block.source) === null) return [];
    if (!block.citations || !this.#manner.documents) {
      if (block.citations) this.#manner.dropped.add("citations");
      return [{ type: "text", text: wordsOf(block) }];
    }
    const { title, context } = block;
    const data = {
      ...(title !== undefined && { title }),
      ...(context !== undefined && { context }),
      text: documentText(block.source) ?? "",
    };
    this.documents.push({ id: `doc:${this.documents.length}`, data });
    return [];
  }

  #dropMarks(block: Block): void {
    if ("cache" in block && block.cache) this.#manner.dropped.add("cache_control");
  }
}

/** One plain text where that says all. */
function contentOf(parts: readonly Wire[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.["type"] === "text" ? only["text"] : parts;
}

function imagePart({ source, detail }: ImageBlock): Wire[] {
  if (source.kind === "file") return [];
  const url = source.kind === "url" ? source.url : dataUrl(source);
  return [{ type: "image_url", image_url: { url, ...(detail !== undefined && { detail }) } }];
}

function wordsOf(document: DocumentBlock): string {
  return documentWords(document, documentText(document.source) ?? "");
}

/** A custom tool's input goes as its function's one argument; nothing at all is an empty object. */
function argumentsText(call: ToolCallBlock): string {
  if (call.custom) return JSON.stringify({ input: call.text });
  return argumentsJson(argumentsObject(call));
}
