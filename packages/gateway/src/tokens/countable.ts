import type { Block, CanonicalRequest, DocumentBlock, Message, Tool } from "../core/message.ts";

/** What a request comes to: texts for the tokenizer, and tokens that no text tells. */
export interface Countable {
  texts: string[];
  /** Framing and media, by flat estimates. */
  flat: number;
}

/**
 * Tokens of what is no text. OpenAI documents 3 tokens around a message, 3 before the answer, and, for pictures of its
 * tile-based models, 85 in low detail and 765 for 1024 × 1024; the others are middling values of the vendors' own pages.
 */
const FLAT = {
  message: 4,
  answer: 3,
  tool: 8,
  call: 8,
  imageLow: 85,
  image: 765,
  document: 3_000,
  audio: 1_000,
} as const;

/** A string without white space of this length in something opaque is data, and no text. */
const DATA_CHARS_MIN = 4_096;

/**
 * What of a canonical request the model would read: instructions, messages, calls and results, tool definitions, an answer's
 * schema. Signatures and encrypted thoughts are not counted: their size says nothing of their tokens.
 */
export function countable(request: CanonicalRequest): Countable {
  const counted: Countable = { texts: [], flat: FLAT.answer };
  for (const message of request.messages) addMessage(counted, message);
  for (const tool of request.tools) addTool(counted, tool);
  const { responseFormat } = request;
  if (responseFormat?.type === "json_schema") addJson(counted, responseFormat.schema);
  return counted;
}

function addMessage(counted: Countable, { name, blocks }: Message): void {
  counted.flat += FLAT.message;
  if (name) add(counted, name);
  for (const block of blocks) addBlock(counted, block);
}

function addBlock(counted: Countable, block: Block): void {
  switch (block.type) {
    case "text":
    case "refusal":
    case "reasoning":
      return add(counted, block.text);
    case "image":
      counted.flat += block.detail === "low" ? FLAT.imageLow : FLAT.image;
      return;
    case "audio":
      counted.flat += FLAT.audio;
      return;
    case "document":
      return addDocument(counted, block);
    case "tool_call":
      counted.flat += FLAT.call;
      add(counted, block.name);
      return add(counted, block.text);
    case "tool_result":
      counted.flat += FLAT.call;
      for (const part of block.content) addBlock(counted, part);
      return;
    case "opaque":
      return addJson(counted, block.value);
  }
}

function addDocument(counted: Countable, { source, title, context }: DocumentBlock): void {
  if (title) add(counted, title);
  if (context) add(counted, context);
  if (source.kind === "text") return add(counted, source.text);
  // Plain text may come in base64, too: it is as long as it is.
  if (source.kind === "base64" && source.mediaType.startsWith("text/")) {
    return add(counted, Buffer.from(source.data, "base64").toString("utf8"));
  }
  counted.flat += FLAT.document;
}

function addTool(counted: Countable, tool: Tool): void {
  counted.flat += FLAT.tool;
  if (tool.type === "hosted") return addJson(counted, tool.value);
  add(counted, tool.name);
  if (tool.description) add(counted, tool.description);
  if (tool.type === "function") {
    if (tool.parameters) addJson(counted, tool.parameters);
  } else if (tool.format !== undefined) {
    addJson(counted, tool.format);
  }
}

/** Something in a dialect's own words; data within it (a picture of a server tool) is counted as a picture. */
function addJson(counted: Countable, value: unknown): void {
  const text = JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== "string" || member.length < DATA_CHARS_MIN || /\s/.test(member.slice(0, DATA_CHARS_MIN))) {
      return member;
    }
    counted.flat += FLAT.image;
    return "";
  });
  if (text !== undefined) add(counted, text);
}

function add(counted: Countable, text: string): void {
  if (text !== "") counted.texts.push(text);
}
