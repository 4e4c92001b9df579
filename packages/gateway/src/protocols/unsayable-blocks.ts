import type { Block, CanonicalRequest } from "../core/message.ts";

/** Adds to `lost` the fields of meaning of blocks that a protocol cannot say, by its own word on each (`canSay`). */
export function addUnsayable(
  { messages }: CanonicalRequest,
  canSay: (block: Block) => boolean,
  lost: Set<string>,
): void {
  for (const { role, blocks } of messages) {
    for (const block of blocks) {
      // Instructions are text alone.
      if (canSay(block) && (role !== "system" || block.type === "text")) continue;
      if (block.type === "opaque") lost.add(block.path);
      else if (block.type === "image") lost.add("images");
      else if (block.type === "document") lost.add("documents");
      else if (block.type === "audio") lost.add("audio");
      else if (block.type === "tool_result") {
        for (const inner of block.content) {
          if (!canSay(inner)) lost.add(inner.type === "image" ? "tool_result_images" : "documents");
        }
      }
    }
  }
}
