import type { Block, CanonicalRequest, DocumentBlock, Tool } from "../../core/message.ts";
import { documentText } from "../document-words.ts";

/** A tool that the package can be told of. */
export type Offered = Exclude<Tool, { type: "hosted" }>;

/** The tools that may be called: where some are allowed, those alone, since there is no word for it. */
export function offeredTools({ tools, toolChoice }: CanonicalRequest): Offered[] {
  const own = tools.filter((tool): tool is Offered => tool.type !== "hosted");
  if (toolChoice?.type !== "allowed") return own;
  const allowed = new Set(toolChoice.names);
  return own.filter((tool) => allowed.has(tool.name));
}

/** Fields of meaning of a request that the SDK's interface has no place for (ruling 17): canonical names, and the client's own paths. */
export function inexpressible(request: CanonicalRequest): string[] {
  const lost = new Set<string>();
  if (request.n > 1) lost.add("n");
  if (request.logprobs !== null) lost.add("logprobs");
  for (const tool of request.tools) if (tool.type === "hosted") lost.add(tool.path);
  const { toolChoice } = request;
  const demands =
    toolChoice?.type === "required" ||
    toolChoice?.type === "named" ||
    (toolChoice?.type === "allowed" && toolChoice.mode === "required");
  if (demands && offeredTools(request).length === 0) lost.add("tool_choice");
  for (const { role, blocks } of request.messages) {
    for (const block of blocks) addBlock(block, role === "user", lost);
  }
  for (const field of request.foreign) if (field.meaning) lost.add(field.path);
  return [...lost];
}

/** Only a user's message holds more than text. */
function addBlock(block: Block, fromUser: boolean, lost: Set<string>): void {
  if (block.type === "opaque") lost.add(block.path);
  else if (block.type === "image" && !(fromUser && block.source.kind !== "file")) lost.add("images");
  else if (block.type === "document" && !(fromUser && isSendable(block))) lost.add("documents");
  else if (block.type === "audio" && !(fromUser && block.source.kind === "base64")) lost.add("audio");
  else if (block.type === "tool_result") {
    for (const inner of block.content) {
      if (inner.type === "image" && inner.source.kind !== "base64") lost.add("tool_result_images");
      if (inner.type === "document" && !hasBytes(inner)) lost.add("documents");
    }
  }
}

function isSendable({ source }: DocumentBlock): boolean {
  return source.kind !== "file";
}

function hasBytes({ source }: DocumentBlock): boolean {
  return source.kind === "base64" || documentText(source) !== null;
}
