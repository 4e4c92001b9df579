import { hash } from "node:crypto";
import { GatewayError } from "../../core/errors.ts";
import type { Block, CacheMarker, Message, ReasoningBlock } from "../../core/message.ts";
import { ToolIds } from "../anthropic-messages/tool-ids.ts";
import { argumentsObject } from "../tool-arguments.ts";
import { cachePoint } from "./cache-point.ts";
import { Documents, image } from "./encode-media.ts";
import { toolName } from "./encode-tools.ts";
import type { ModelRules } from "./models.ts";
import { NAME, type Wire } from "./wire.ts";

/** Said for a user who has to speak first, or who sends a document without a word. */
const OPENING = ".";
/** Said for a user where the conversation ends with the model's words. */
const GO_ON = "Continue.";
/** Anthropic's own protocol: a proof that Claude made there holds here too, since both are checked by Anthropic. */
const ANTHROPIC = "anthropic-messages";
const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const HASH_CHARS = 24;

/** One side's turn: results stand before everything else in it. */
interface Turn {
  role: "user" | "assistant";
  results: Wire[];
  content: Wire[];
}

/** A conversation as Converse takes it. */
export interface Conversation {
  system: Wire[];
  messages: { role: string; content: Wire[] }[];
}

/**
 * The messages in alternating turns, a user's first; leading system messages apart. Hints that find no place are added to
 * `dropped`. Throws invalid_request for a result that answers no call, and for a call without a result.
 */
export function encodeMessages(messages: readonly Message[], rules: ModelRules, dropped: Set<string>): Conversation {
  const opening = messages.findIndex((message) => message.role !== "system");
  const leading = opening === -1 ? messages : messages.slice(0, opening);
  const turns = new Turns(rules, dropped);
  const system = leading.flatMap((message) => message.blocks.flatMap((block) => turns.instruction(block)));
  if (opening !== -1) for (const message of messages.slice(opening)) turns.add(message);
  return { system, messages: turns.end() };
}

/** Puts messages together into turns. */
class Turns {
  readonly #rules: ModelRules;
  readonly #dropped: Set<string>;
  readonly #turns: Turn[] = [];
  readonly #ids = new ToolIds(wireId);
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
      const wire = message.role === "system" ? this.#inline(block) : this.#encode(block, role);
      if (wire.length === 0) continue;
      const turn = this.#turnFor(role);
      (block.type === "tool_result" ? turn.results : turn.content).push(...wire);
    }
  }

  end(): Conversation["messages"] {
    this.#checkAnswered();
    const turns = this.#turns;
    const last = turns[turns.length - 1];
    if (last?.role === "assistant") {
      if (this.#rules.claude?.prefill === true) trimEnd(last);
      else this.#turnFor("user").content.push({ text: GO_ON });
    }
    if (turns[0]?.role !== "user") turns.unshift({ role: "user", results: [], content: [{ text: OPENING }] });
    return turns.map(({ role, results, content }) => ({ role, content: spoken([...results, ...content]) }));
  }

  #encode(block: Block, role: Turn["role"]): Wire[] {
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
        this.#turnFor(role);
        // Gemini's proof on a call is for Gemini.
        if (block.signature) this.#dropped.add("reasoning_history");
        const input = block.custom ? { input: block.text } : argumentsObject(block);
        const toolUse = { toolUseId: this.#ids.call(block.id), name: toolName(block.name) ?? "tool", input };
        return this.#marked([{ toolUse }], block.cache);
      }
      case "tool_result": {
        const content = block.content.flatMap((inner) =>
          inner.type === "text" ? textBlock(inner.text) : this.#media(inner),
        );
        const toolUseId = this.#answered(block.callId);
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

  #answered(id: string): string {
    const wire = this.#ids.result(id);
    if (wire !== null) return wire;
    throw misfit(`the tool result for ${quoted(id)} answers no tool call of the assistant message before it`);
  }

  #checkAnswered(): void {
    const id = this.#ids.unanswered;
    if (id !== null) throw misfit(`the tool call ${quoted(id)} has no result in the message after it; send one`);
  }

  #turnFor(role: Turn["role"]): Turn {
    const last = this.#turns[this.#turns.length - 1];
    if (last?.role === role) return last;
    // The user's turn is over: whatever the model called has been answered by now, or never will be.
    if (role === "assistant") {
      this.#checkAnswered();
      this.#ids.turn();
    }
    const turn: Turn = { role, results: [], content: [] };
    this.#turns.push(turn);
    return turn;
  }
}

/** Bedrock refuses text without a letter in it. */
function textBlock(text: string): Wire[] {
  return text.trim() === "" ? [] : [{ text }];
}

/** A document needs a word beside it. */
function spoken(content: Wire[]): Wire[] {
  const silent = content.some((block) => "document" in block) && !content.some((block) => "text" in block);
  return silent ? [...content, { text: OPENING }] : content;
}

/** The beginning of an answer may not end in white space. */
function trimEnd({ content }: Turn): void {
  const last = content[content.length - 1];
  if (typeof last?.["text"] === "string") last["text"] = last["text"].trimEnd();
}

function wireId(id: string): string {
  return ID.test(id) ? id : `tooluse_${hash("sha256", id, "hex").slice(0, HASH_CHARS)}`;
}

function misfit(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param: "messages" });
}

function quoted(id: string): string {
  return JSON.stringify(id.slice(0, 80));
}
