import { GatewayError } from "../../core/errors.ts";
import type {
  Block,
  DocumentBlock,
  ImageBlock,
  Message,
  OpaqueBlock,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from "../../core/message.ts";
import type { Signature } from "../../core/stream-part.ts";
import { madeCallId } from "../call-ids.ts";
import { argumentsJson } from "../exact-json.ts";
import { type Fields, isObject, wordOf } from "../field-checks.ts";
import { DIALECT, pick, pickList, pickObject, pickString, spelling } from "./fields.ts";
import { readMedia } from "./media.ts";
import { PendingCalls } from "./pending-calls.ts";
import { readProof, UNSIGNED } from "./proof.ts";

interface Reading {
  pending: PendingCalls;
  /** Turn in the conversation, for ids of calls that have none. */
  turn: number;
  calls: number;
}

/**
 * The contents of a request as messages. Turns of the model that follow each other are one: SDKs keep a streamed answer in the
 * pieces it came in. Throws invalid_request for a functionResponse that answers no functionCall.
 */
export function readContents(contents: readonly unknown[]): Message[] {
  const reading: Reading = { pending: new PendingCalls(), turn: 0, calls: 0 };
  const messages: Message[] = [];
  let model: Block[] | null = null;
  contents.forEach((content, index) => {
    if (!isObject(content)) return;
    const path = `contents[${index}]`;
    const parts = pickList(content, "parts").filter(isObject);
    const goesOn = model !== null && content["role"] === "model";
    if (!goesOn) {
      reading.turn = index;
      reading.calls = 0;
    }
    if (content["role"] !== "model") {
      model = null;
      messages.push(...userMessages(parts, path, reading));
      return;
    }
    if (model === null) model = newTurn(messages);
    const blocks = model;
    const first = goesOn && continuesText(blocks, parts[0]) ? 1 : 0;
    for (const [at, part] of parts.entries()) {
      if (at >= first) addModelPart(blocks, part, `${path}.parts[${at}]`, reading);
    }
  });
  return messages;
}

function newTurn(messages: Message[]): Block[] {
  const blocks: Block[] = [];
  messages.push({ role: "assistant", blocks });
  return blocks;
}

/** Text at the beginning of a piece goes on with the text at the end of the one before it. */
function continuesText(blocks: Block[], part: Fields | undefined): boolean {
  const last = blocks[blocks.length - 1];
  const text = part?.["text"];
  if (last?.type !== "text" || typeof text !== "string" || part?.["thought"] === true) return false;
  if (part && pickString(part, "thoughtSignature")) return false;
  last.text += text;
  return true;
}

/** A turn of the user: results first, as a message of their own, then what else there is. */
function userMessages(parts: readonly Fields[], path: string, reading: Reading): Message[] {
  const results: Block[] = [];
  const rest: Block[] = [];
  parts.forEach((part, index) => {
    const at = `${path}.parts[${index}]`;
    const response = pickObject(part, "functionResponse");
    if (response) results.push(readResult(response, `${at}.${spelling(part, "functionResponse")}`, reading));
    else rest.push(readUserPart(part, at));
  });
  const messages: Message[] = [];
  if (results.length > 0) messages.push({ role: "tool", blocks: results });
  if (rest.length > 0 || results.length === 0) messages.push({ role: "user", blocks: rest });
  return messages;
}

function readUserPart(part: Fields, path: string): Block {
  if (typeof part["text"] === "string") return { type: "text", text: part["text"] };
  // How a video is to be cut is part of what is shown.
  const plain = pick(part, "videoMetadata") === undefined;
  return (plain ? readMedia(part, path) : null) ?? { type: "opaque", dialect: DIALECT, path, value: part };
}

function addModelPart(blocks: Block[], part: Fields, path: string, reading: Reading): Block[] {
  const call = pickObject(part, "functionCall");
  if (call) {
    blocks.push(readCall(call, part, reading));
  } else if (typeof part["text"] === "string") {
    if (part["thought"] === true) addThought(blocks, part["text"], part);
    else addText(blocks, part["text"], part);
  } else {
    blocks.push(readUserPart(part, path));
  }
  return blocks;
}

/** A signature on a text is kept as an empty thought behind it; on an empty text it is all there is. */
function addText(blocks: Block[], text: string, part: Fields): void {
  const given = pickString(part, "thoughtSignature");
  if (text !== "" || !given) blocks.push({ type: "text", text });
  if (!given) return;
  const { signature, on } = readProof(given);
  blocks.push(
    on === "encrypted"
      ? { type: "reasoning", text: "", encrypted: signature }
      : { type: "reasoning", text: "", signature },
  );
}

/** Streamed thoughts come back in the pieces they came in; a signature ends one. */
function addThought(blocks: Block[], text: string, part: Fields): void {
  const given = pickString(part, "thoughtSignature");
  const wrapped = given ? readProof(given) : null;
  if (wrapped?.on === "encrypted") {
    if (text !== "") addPlainThought(blocks, text, undefined);
    const last = blocks[blocks.length - 1];
    // What only its maker reads stands behind what was shown of it.
    if (last && isOpenThought(last)) last.encrypted = wrapped.signature;
    else blocks.push({ type: "reasoning", text: "", encrypted: wrapped.signature });
    return;
  }
  addPlainThought(blocks, text, wrapped?.signature);
}

function addPlainThought(blocks: Block[], text: string, signature: Signature | undefined): void {
  const last = blocks[blocks.length - 1];
  if (last && isOpenThought(last)) {
    last.text += text;
    if (signature) last.signature = signature;
    return;
  }
  if (text === "" && !signature) return;
  const block: ReasoningBlock = { type: "reasoning", text, ...(signature && { signature }) };
  blocks.push(block);
}

function isOpenThought(block: Block): block is ReasoningBlock {
  return block.type === "reasoning" && block.text !== "" && !block.signature && !block.encrypted;
}

function readCall(call: Fields, part: Fields, reading: Reading): ToolCallBlock {
  const name = wordOf(call["name"]);
  const given = pickString(call, "id");
  const id = given || madeCallId("contents", reading.turn, reading.calls, name);
  reading.calls++;
  reading.pending.add({ id, name, given: Boolean(given) });
  const args = pick(call, "args");
  const proof = pickString(part, "thoughtSignature");
  // The word that there is none is no proof.
  const signature = proof === UNSIGNED ? undefined : proof;
  return {
    type: "tool_call",
    id,
    name,
    ...argumentsOf(isObject(args) ? args : {}),
    ...(signature && { signature: readProof(signature, "call").signature }),
  };
}

/** Text that was no JSON object went to this client in a wrapper, and comes out of it here. */
function argumentsOf(args: Fields): Pick<ToolCallBlock, "arguments" | "text"> {
  const raw = args["__raw_arguments"];
  if (typeof raw === "string" && Object.keys(args).length === 1) return { text: raw };
  return { arguments: args, text: argumentsJson(args) };
}

function readResult(response: Fields, path: string, reading: Reading): ToolResultBlock | OpaqueBlock {
  const name = wordOf(response["name"]);
  const id = pickString(response, "id");
  const call = reading.pending.take(id, name);
  if (!call) {
    throw new GatewayError(
      "invalid_request",
      `${path} ${JSON.stringify((id || name).slice(0, 80))} answers no functionCall`,
      {
        param: path,
      },
    );
  }
  const { content, isError } = readResponse(response["response"]);
  const media: (ImageBlock | DocumentBlock)[] = [];
  for (const [place, part] of pickList(response, "parts").entries()) {
    const block = isObject(part) ? readMedia(part, `${path}.parts[${place}]`) : null;
    // A film or a sound a tool gave: only Google can be told of it.
    if (!block || block.type === "audio") {
      return { type: "opaque", dialect: DIALECT, path, value: { functionResponse: response } };
    }
    media.push(block);
  }
  return { type: "tool_result", callId: call.id, name: call.name, content: [...content, ...media], isError };
}

/** What a tool answered is an object here: `{ output }` and `{ error }` are the words for a text; anything else is JSON. */
function readResponse(response: unknown): { content: TextBlock[]; isError: boolean } {
  if (!isObject(response)) return { content: response === undefined ? [] : textOf(response), isError: false };
  const keys = Object.keys(response);
  const [only] = keys;
  if (keys.length === 0) return { content: [], isError: false };
  if (keys.length > 1 || only === undefined) return { content: textOf(response), isError: false };
  if (only === "error") return { content: textOf(response[only]), isError: true };
  const plain = (only === "output" || only === "result") && typeof response[only] === "string";
  return { content: textOf(plain ? response[only] : response), isError: false };
}

function textOf(value: unknown): TextBlock[] {
  return [{ type: "text", text: typeof value === "string" ? value : (JSON.stringify(value) ?? "") }];
}
