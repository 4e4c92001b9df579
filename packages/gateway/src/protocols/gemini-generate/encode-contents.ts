import type {
  Block,
  DocumentBlock,
  Message,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import { documentWords } from "../document-words.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { pushAll } from "../push-all.ts";
import { argumentsObject } from "../tool-arguments.ts";
import { answersNothing } from "../turns.ts";
import { unshowable } from "./expressible.ts";
import { DIALECT } from "./fields.ts";
import { writeMedia } from "./media.ts";
import { UNSIGNED } from "./proof.ts";
import type { ModelTraits } from "./thinking.ts";

/** What a conversation begins with that has no turn of the user. */
const OPENING = ".";

interface Content {
  role: "user" | "model";
  parts: Fields[];
}

/**
 * Messages as contents: turns of one side are one content, results of tools first. System messages that lead go into
 * `systemInstruction`; a later one stays in its place, marked. What is left out is named in `dropped`.
 */
export function encodeContents(
  messages: readonly Message[],
  traits: ModelTraits,
  dropped: Set<string>,
): { systemInstruction: Fields | undefined; contents: Content[] } {
  const leading = messages.findIndex((message) => message.role !== "system");
  const system = leading === -1 ? messages : messages.slice(0, leading);
  const systemParts = system.flatMap((message) => userParts(message.blocks, traits, dropped));
  const contents: Content[] = [];
  for (const message of leading === -1 ? [] : messages.slice(leading)) {
    if (message.name !== undefined) dropped.add("name");
    const role = message.role === "assistant" ? "model" : "user";
    const parts = partsOf(message, traits, dropped);
    if (parts.length === 0) continue;
    const last = contents[contents.length - 1];
    if (last?.role === role) pushAll(last.parts, parts);
    else contents.push({ role, parts });
  }
  if (contents[0]?.role !== "user") contents.unshift({ role: "user", parts: [{ text: OPENING }] });
  return { systemInstruction: systemParts.length > 0 ? { parts: systemParts } : undefined, contents };
}

function partsOf(message: Message, traits: ModelTraits, dropped: Set<string>): Fields[] {
  switch (message.role) {
    case "assistant":
      return modelParts(message.blocks, traits, dropped);
    case "system":
      return userParts(message.blocks, traits, dropped).map((part) =>
        typeof part["text"] === "string" ? { text: `<system>\n${part["text"]}\n</system>` } : part,
      );
    default:
      return userParts(message.blocks, traits, dropped);
  }
}

/** Empty texts are left out: alone in a content they are refused. */
function userParts(blocks: readonly Block[], traits: ModelTraits, dropped: Set<string>): Fields[] {
  return blocks.flatMap((block): Fields[] => {
    if ("cache" in block && block.cache) dropped.add("cache_control");
    if (block.type === "tool_result") return [resultPart(block, traits, dropped)];
    return plainPart(block, traits, dropped);
  });
}

function plainPart(block: Block, traits: ModelTraits, dropped: Set<string>): Fields[] {
  if (unshowable(block, traits.modern).length > 0) return [];
  switch (block.type) {
    case "text":
    case "refusal":
      return block.text === "" ? [] : [{ text: block.text }];
    case "image":
      if (block.detail !== undefined && block.detail !== "auto") dropped.add("image_detail");
      return [writeMedia(block) ?? []].flat();
    case "document":
      return documentParts(block, dropped);
    case "audio":
      return [writeMedia(block) ?? []].flat();
    case "opaque":
      return isObject(block.value) ? [block.value] : [];
    default:
      return [];
  }
}

/** A file's name, and what was noted about it, are told before it: its part has no place for them. */
function documentParts(block: DocumentBlock, dropped: Set<string>): Fields[] {
  if (block.citations) dropped.add("citations");
  const about = block.source.kind === "text" ? "" : documentWords(block, "");
  return [...(about === "" ? [] : [{ text: about }]), ...[writeMedia(block) ?? []].flat()];
}

function modelParts(blocks: readonly Block[], traits: ModelTraits, dropped: Set<string>): Fields[] {
  const parts: Fields[] = [];
  let first = true;
  for (const block of blocks) {
    if ("cache" in block && block.cache) dropped.add("cache_control");
    if (block.type === "reasoning") parts.push(...thoughtParts(block, dropped));
    else if (block.type === "tool_call") {
      parts.push(callPart(block, first && traits.wantsSignatures));
      first = false;
    } else parts.push(...plainPart(block, traits, dropped));
  }
  return parts;
}

/** Thoughts go back to who thought them. Without Google's own proof they are another's, or worth nothing to it. */
function thoughtParts({ text, signature, encrypted }: ReasoningBlock, dropped: Set<string>): Fields[] {
  if (signature?.dialect === DIALECT) {
    return [{ text, ...(text !== "" && { thought: true }), thoughtSignature: signature.value }];
  }
  if (encrypted?.dialect === DIALECT) return [{ text: "", thought: true, thoughtSignature: encrypted.value }];
  dropped.add("reasoning_history");
  return [];
}

/** Of parallel calls Google signs the first alone. `wanted`: one without a proof would be refused. */
function callPart(call: ToolCallBlock, wanted: boolean): Fields {
  const { id, name, text, signature, custom } = call;
  const args = custom ? { input: text } : argumentsObject(call);
  const own = signature?.dialect === DIALECT ? signature.value : wanted ? UNSIGNED : undefined;
  return { functionCall: { id, name, args }, ...(own !== undefined && { thoughtSignature: own }) };
}

/** A result is an object and names its function. What is no text stands beside it, from Gemini 3 on. */
function resultPart(block: ToolResultBlock, traits: ModelTraits, dropped: Set<string>): Fields {
  const { callId, name, content, isError } = block;
  if (name === null) throw answersNothing(callId, "the messages before it");
  const texts: string[] = [];
  const media: Fields[] = [];
  for (const piece of content) {
    if (piece.cache) dropped.add("cache_control");
    for (const part of piece.type === "text" ? [{ text: piece.text }] : plainPart(piece, traits, dropped)) {
      if (typeof part["text"] === "string") texts.push(part["text"]);
      else if (traits.modern) media.push(part);
    }
  }
  const response = texts.length === 0 && !isError ? {} : { [isError ? "error" : "output"]: texts.join("\n") };
  return { functionResponse: { id: callId, name, response, ...(media.length > 0 && { parts: media }) } };
}
