import { isObject, type JsonObject } from "../json.ts";
import type { HeardKind } from "../models/mirror.ts";
import { isOwn, signs } from "../signature.ts";
import { readDocument, readImage, unknownTag } from "./media.ts";
import { checkMembers, listAt, objectAt, stringAt, wrong } from "./refusals.ts";
import type { Tally } from "./tally.ts";

const ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** The members of the blocks that a request may hold. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  text: ["type", "text", "cache_control", "citations"],
  image: ["type", "source", "cache_control"],
  document: ["type", "source", "title", "context", "citations", "cache_control"],
  search_result: ["type", "source", "title", "content", "citations", "cache_control"],
  thinking: ["type", "thinking", "signature"],
  redacted_thinking: ["type", "data"],
  tool_use: ["type", "id", "name", "input", "cache_control", "caller"],
  tool_result: ["type", "tool_use_id", "content", "is_error", "cache_control"],
};
const BY_ASSISTANT = ["thinking", "redacted_thinking", "tool_use"];
const BY_USER = ["image", "document", "search_result", "tool_result"];
/** Blocks of tools that Anthropic runs itself: taken as they are. */
const SERVER_BLOCK =
  /^(server_tool_use|[a-z_]+_tool_result|mcp_tool_use|container_upload|compaction|tool_reference|tool_addition|tool_removal)$/;

/** A block that was read. `id` of a tool_use, or of the one a tool_result answers. */
export interface InputBlock {
  readonly type: string;
  readonly kind: HeardKind;
  readonly text: string;
  readonly id: string | null;
}

/** Reads a block of a message; every fault is a 400 that names the place. */
export function readBlock(value: unknown, role: string, at: string, tally: Tally): InputBlock {
  const block = objectAt(value, at);
  const { type } = block;
  if (typeof type !== "string" || !(Object.hasOwn(MEMBERS, type) || SERVER_BLOCK.test(type))) {
    return unknownTag(type, Object.keys(MEMBERS).sort(), at);
  }
  const members = Object.hasOwn(MEMBERS, type) ? MEMBERS[type] : undefined;
  if (members === undefined) return { type, kind: "text", text: "", id: null };
  const strangers = role === "user" ? BY_ASSISTANT : BY_USER;
  if (strangers.includes(type)) {
    const owner = role === "user" ? "assistant" : "user";
    wrong(at.replace(/\.content\.\d+$/, ""), `\`${type}\` blocks can only be in \`${owner}\` messages`);
  }
  checkMembers(block, members, `${at}.${type}`);
  const read = READERS[type]?.(block, at, tally);
  readMark(block, `${at}.${type}`, tally);
  return { type, kind: "text", text: "", id: null, ...read };
}

/** Reads the text of a text block, which may not be empty. */
export function readText(value: unknown, at: string, tally: Tally): string {
  const text = stringAt(value, at);
  if (text === "") wrong("", "messages: text content blocks must be non-empty");
  if (text.trim() === "") wrong("", "messages: text content blocks must contain non-whitespace text");
  return tally.text(text);
}

/** Counts the cache marker of a block, a tool or the request, if it has one. */
export function readMark(owner: JsonObject, at: string, tally: Tally): void {
  const mark = owner.cache_control;
  if (mark == null) return;
  const place = `${at === "" ? "" : `${at}.`}cache_control`;
  const { type, ttl } = objectAt(mark, place);
  if (type !== "ephemeral") unknownTag(type, ["ephemeral"], place);
  if (ttl != null && ttl !== "5m" && ttl !== "1h") wrong(`${place}.ephemeral.ttl`, "Input should be '5m' or '1h'");
  tally.mark(ttl, place);
}

type Read = Partial<Omit<InputBlock, "type">>;

const READERS: Readonly<Record<string, (block: JsonObject, at: string, tally: Tally) => Read>> = {
  text: (block, at, tally) => ({ text: readText(block.text, `${at}.text.text`, tally) }),
  image: (block, at, tally) => {
    tally.media();
    tally.images.push(readImage(block.source, `${at}.image.source`));
    return { kind: "image" };
  },
  document: (block, at, tally) => {
    readDocument(block.source, `${at}.document.source`, tally);
    return { kind: "file" };
  },
  search_result: (block, at, tally) => {
    tally.text(JSON.stringify(listAt(block.content, `${at}.search_result.content`)));
    return { kind: "file" };
  },
  thinking: (block, at, tally) => {
    const thought = stringAt(block.thinking, `${at}.thinking.thinking`);
    const signature = stringAt(block.signature, `${at}.thinking.signature`);
    if (!signs(signature, thought)) wrong(at, "Invalid `signature` in `thinking` block");
    tally.text(thought);
    return { kind: "reasoning" };
  },
  redacted_thinking: (block, at) => {
    if (!isOwn(stringAt(block.data, `${at}.redacted_thinking.data`))) {
      wrong(at, "Invalid `data` in `redacted_thinking` block");
    }
    return { kind: "reasoning" };
  },
  tool_use: readToolUse,
  tool_result: readToolResult,
};

function readToolUse(block: JsonObject, at: string, tally: Tally): Read {
  const id = readId(block.id, `${at}.tool_use.id`);
  const name = stringAt(block.name, `${at}.tool_use.name`);
  if (!NAME.test(name)) wrong(`${at}.tool_use.name`, `String should match pattern '${NAME.source}'`);
  if (!isObject(block.input)) wrong(`${at}.tool_use.input`, "Input should be a valid dictionary");
  tally.text(name);
  tally.text(JSON.stringify(block.input));
  tally.calls.push({ id, name, arguments: block.input });
  return { kind: "tool_call", id };
}

function readToolResult(block: JsonObject, at: string, tally: Tally): Read {
  const id = readId(block.tool_use_id, `${at}.tool_result.tool_use_id`);
  const error = block.is_error === true;
  let text = "";
  if (typeof block.content === "string") text = tally.text(block.content);
  else if (block.content != null) {
    const place = `${at}.tool_result.content`;
    for (const [i, inner] of listAt(block.content, place).entries()) {
      if (isObject(inner) && BY_ASSISTANT.concat("tool_result").includes(String(inner.type))) {
        unknownTag(inner.type, ["document", "image", "search_result", "text", "tool_reference"], `${place}.${i}`);
      }
      text += readBlock(inner, "user", `${place}.${i}`, tally).text;
    }
  }
  tally.results.push({ id, text, error });
  return { kind: "tool_result", id, text };
}

function readId(value: unknown, at: string): string {
  const id = stringAt(value, at);
  return ID.test(id) ? id : wrong(at, `String should match pattern '${ID.source}'`);
}
