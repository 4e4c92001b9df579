import { hash } from "node:crypto";
import type { Block, CacheMarker, Message, ReasoningBlock } from "../../core/message.ts";
import { argumentsObject } from "../tool-arguments.ts";
import { type Side, Turns } from "../turns.ts";
import { cachePoint } from "./cache-point.ts";
import { Documents, image } from "./encode-media.ts";
import { toolName } from "./encode-tools.ts";
import type { ModelRules } from "./models.ts";
import { NAME, type Wire } from "./wire.ts";

/** Said for a user who sends a document without a word. */
const WORD = ".";
/** Anthropic's own protocol: a proof that Claude made there holds here too, since both are checked by Anthropic. */
const ANTHROPIC = "anthropic-messages";
const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const HASH_CHARS = 24;

/** A conversation as Converse takes it. */
export interface Conversation {
  system: Wire[];
  messages: { role: Side; content: Wire[] }[];
}

/**
 * The messages in alternating turns, a user's first; leading system messages apart. Hints that find no place are added to
 * `dropped`. Throws invalid_request for a result that answers no call, and for a call without a result.
 */
export function encodeMessages(messages: readonly Message[], rules: ModelRules, dropped: Set<string>): Conversation {
  const opening = messages.findIndex((message) => message.role !== "system");
  const leading = opening === -1 ? messages : messages.slice(0, opening);
  const writer = new TurnWriter(rules, dropped);
  const system = leading.flatMap((message) => message.blocks.flatMap((block) => writer.instruction(block)));
  if (opening !== -1) for (const message of messages.slice(opening)) writer.add(message);
  return { system, messages: writer.end() };
}

/** Says messages in turns. */
class TurnWriter {
  readonly #rules: ModelRules;
  readonly #dropped: Set<string>;
  readonly #turns = new Turns(wireId);
  readonly #documents = new Documents();

  constructor(rules: ModelRules, dropped: Set<string>) {
    this.#rules = rules;
    this.#dropped = dropped;
  }

  instruction(block: Block): Wire[] {
    return block.type === "text" ? this.#marked(textBlock(block.text), block.cache) : [];
  }

  add(message: Message): void {
    if (message.name !== undefined) this.#dropped.add("name");
    const role = message.role === "assistant" ? "assistant" : "user";
    for (const block of message.blocks) {
      const wire = message.role === "system" ? this.#inline(block) : this.#encode(block);
      this.#turns.say(role, wire, block.type === "tool_result");
    }
  }

  end(): Conversation["messages"] {
    const turns = this.#turns.end((text) => ({ text }), this.#rules.claude?.prefill === true);
    return turns.map(({ role, content }) => ({ role, content: spoken(content) }));
  }

  #encode(block: Block): Wire[] {
    switch (block.type) {
      case "text":
        return this.#marked(textBlock(block.text), block.cache);
      case "refusal":
        return textBlock(block.text);
      case "image":
      case "document":
        return this.#marked(this.#media(block), block.cache);
      case "reasoning":
        return this.#thoughts(block);
      case "tool_call": {
        // Gemini's proof on a call is for Gemini.
        if (block.signature) this.#dropped.add("reasoning_history");
        const input = block.custom ? { input: block.text } : argumentsObject(block);
        const toolUse = { toolUseId: this.#turns.call(block.id), name: toolName(block.name) ?? "tool", input };
        return this.#marked([{ toolUse }], block.cache);
      }
      case "tool_result": {
        const content = block.content.flatMap((inner) =>
          inner.type === "text" ? textBlock(inner.text) : this.#media(inner),
        );
        const toolUseId = this.#turns.result(block.callId);
        const toolResult = { toolUseId, content, ...(block.isError && { status: "error" }) };
        const cache = block.cache ?? block.content.findLast((inner) => inner.cache)?.cache;
        return this.#marked([{ toolResult }], cache);
      }
      default:
        return [];
    }
  }

  #media(block: Extract<Block, { type: "image" | "document" }>): Wire[] {
    if (block.type === "image" && block.detail !== undefined && block.detail !== "auto") {
      this.#dropped.add("image_detail");
    }
    const wire = block.type === "image" ? image(block) : this.#documents.encode(block);
    return wire ? [wire] : [];
  }

  /** Thoughts go back to who made them; to any other model they are of no use. */
  #thoughts({ text, signature, encrypted }: ReasoningBlock): Wire[] {
    const own = (dialect: string): boolean =>
      dialect === NAME || (dialect === ANTHROPIC && this.#rules.claude !== null);
    const wire: Wire[] = [];
    if (signature && own(signature.dialect)) {
      wire.push({ reasoningContent: { reasoningText: { text, signature: signature.value } } });
    }
    if (encrypted && own(encrypted.dialect)) {
      const { dialect, value } = encrypted;
      // Converse says Anthropic's words as bytes.
      const redactedContent = dialect === NAME ? value : Buffer.from(value).toString("base64");
      wire.push({ reasoningContent: { redactedContent } });
    }
    if (wire.length === 0) this.#dropped.add("reasoning_history");
    return wire;
  }

  /** An instruction in the middle of a conversation, which Converse has no place for. */
  #inline(block: Block): Wire[] {
    if (block.type !== "text" || block.text.trim() === "") return [];
    return this.#marked([{ text: `<system>\n${block.text}\n</system>` }], block.cache);
  }

  #marked(wire: Wire[], cache: CacheMarker | undefined): Wire[] {
    if (!cache || wire.length === 0) return wire;
    const { caching } = this.#rules;
    if (!caching) {
      this.#dropped.add("cache_control");
      return wire;
    }
    return [...wire, cachePoint(cache, caching.long)];
  }
}

/** Bedrock refuses text without a letter in it. */
function textBlock(text: string): Wire[] {
  return text.trim() === "" ? [] : [{ text }];
}

/** A document needs a word beside it. */
function spoken(content: Wire[]): Wire[] {
  const silent = content.some((block) => "document" in block) && !content.some((block) => "text" in block);
  return silent ? [...content, { text: WORD }] : content;
}

function wireId(id: string): string {
  return ID.test(id) ? id : `tooluse_${hash("sha256", id, "hex").slice(0, HASH_CHARS)}`;
}
