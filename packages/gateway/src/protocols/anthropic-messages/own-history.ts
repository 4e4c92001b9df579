import { type Fields, isObject } from "../field-checks.ts";
import { FOREIGN_MARK, UNPROVEN } from "./wire.ts";

/**
 * Messages for a provider of this dialect without what another one left in them: thoughts under a wrapped signature, which
 * Anthropic would refuse as forged, and citations it never made. Messages left empty go too. Null when nothing was found.
 */
export function withoutForeignProof(messages: unknown): unknown[] | null {
  if (!Array.isArray(messages)) return null;
  let found = false;
  const kept = messages.flatMap((message: unknown) => {
    if (!isObject(message) || message["role"] !== "assistant" || !Array.isArray(message["content"])) return [message];
    const content = message["content"].filter((block) => !isForeign(block)).map(withoutForeignCitations);
    if (
      content.every((block, index) => block === (message["content"] as unknown[])[index]) &&
      sameLength(message, content)
    ) {
      return [message];
    }
    found = true;
    return content.length === 0 ? [] : [{ ...message, content }];
  });
  return found ? kept : null;
}

function sameLength(message: Fields, content: unknown[]): boolean {
  return (message["content"] as unknown[]).length === content.length;
}

function isForeign(block: unknown): boolean {
  if (!isObject(block)) return false;
  const proof =
    block["type"] === "thinking" ? block["signature"] : block["type"] === "redacted_thinking" ? block["data"] : "";
  return typeof proof === "string" && proof.startsWith(FOREIGN_MARK);
}

function withoutForeignCitations(block: unknown): unknown {
  if (!isObject(block) || !Array.isArray(block["citations"])) return block;
  const citations = block["citations"].filter((entry) => !(isObject(entry) && entry["encrypted_index"] === UNPROVEN));
  if (citations.length === block["citations"].length) return block;
  const { citations: _, ...rest } = block;
  return citations.length === 0 ? rest : { ...rest, citations };
}
