import type { Block, CanonicalRequest, Tool } from "../../core/message.ts";

/** What of a request costs input tokens. */
export interface Countable {
  /** Every text the model reads: instructions, messages, thoughts, calls, results, tools, the answer's schema. */
  texts: string[];
  images: number;
  /** Base64 characters of documents and sounds. */
  inlineDataChars: number;
}

/** What a local counter has to count of a canonical request (`toCanonical` takes a `count_tokens` body too). */
export function countable(request: CanonicalRequest): Countable {
  const into: Countable = { texts: [], images: 0, inlineDataChars: 0 };
  for (const { blocks } of request.messages) for (const block of blocks) add(block, into);
  for (const tool of request.tools) into.texts.push(textOf(tool));
  if (request.responseFormat?.type === "json_schema") into.texts.push(JSON.stringify(request.responseFormat.schema));
  return into;
}

function add(block: Block, into: Countable): void {
  switch (block.type) {
    case "text":
    case "refusal":
    case "reasoning":
      if (block.text !== "") into.texts.push(block.text);
      return;
    case "tool_call":
      into.texts.push(block.name, block.text);
      return;
    case "tool_result":
      for (const inner of block.content) add(inner, into);
      return;
    case "image":
      into.images++;
      return;
    case "document":
      for (const words of [block.title, block.context]) if (words) into.texts.push(words);
      if (block.source.kind === "text") into.texts.push(block.source.text);
      else if (block.source.kind === "base64") into.inlineDataChars += block.source.data.length;
      return;
    case "audio":
      if (block.source.kind === "base64") into.inlineDataChars += block.source.data.length;
      return;
    case "opaque":
      into.texts.push(JSON.stringify(block.value));
  }
}

function textOf(tool: Tool): string {
  if (tool.type === "hosted") return JSON.stringify(tool.value);
  const { name, description = "" } = tool;
  const schema = tool.type === "function" ? tool.parameters : (tool.format ?? null);
  return `${name}\n${description}\n${schema === null ? "" : JSON.stringify(schema)}`;
}
