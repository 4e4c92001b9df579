import type { Annotation, Block, Choice, ReasoningBlock, Reply, ToolCallBlock } from "../../core/message.ts";
import { bodyJson, holdsTexts } from "../exact-json.ts";
import { wrapSignature } from "../signature.ts";
import type { Shown } from "../translation.ts";
import { wireCitation } from "./annotations.ts";
import { callBlock } from "./encode-blocks.ts";
import { stopReason } from "./finish.ts";
import { wireToolId } from "./tool-ids.ts";
import { wireUsage } from "./usage.ts";
import { NAME, UNSIGNED, type Wire } from "./wire.ts";

/** The answer's id, made from the request's. */
export function messageId({ requestId }: Shown): string {
  return `msg_${requestId.replace(/^req_/, "")}`;
}

/** A canonical answer as a message (WIRE A3.2). Of several choices the dialect can only tell the first. */
export function encodeReply(answer: Reply, shown: Shown): Buffer {
  const choice = answer.choices[0];
  const content = choice ? contentOf(choice) : [];
  const message: Wire = {
    id: messageId(shown),
    type: "message",
    role: "assistant",
    model: answer.model ?? shown.model,
    content,
    stop_reason: stopReason(choice?.finish ?? null, choice?.stopSequence ?? null, {
      called: content.some((block) => block["type"] === "tool_use"),
      refused: choice?.blocks.some((block) => block.type === "refusal") ?? false,
    }),
    stop_sequence: choice?.stopSequence ?? null,
    usage: wireUsage(answer.usage ?? {}),
  };
  return Buffer.from(bodyJson(message, holdsTexts(answer.choices)));
}

/** The thinking blocks of a reasoning block: proofs of other makers in their wrapper. */
function thoughtBlocks({ text, signature, encrypted }: ReasoningBlock): Wire[] {
  const blocks: Wire[] = [];
  const native = encrypted?.dialect === NAME;
  if (signature) blocks.push(thinking(text, wrapSignature(signature, "text", NAME)));
  else if (encrypted && !native && text !== "") return [thinking(text, wrapSignature(encrypted, "encrypted", NAME))];
  else if (text !== "") blocks.push(thinking(text, UNSIGNED));
  if (encrypted) blocks.push({ type: "redacted_thinking", data: wrapSignature(encrypted, "encrypted", NAME) });
  return blocks;
}

/** A block without words that carries the proof of the call behind it. */
function callProof(signature: NonNullable<ToolCallBlock["signature"]>): Wire {
  return thinking("", wrapSignature(signature, "call", NAME));
}

function thinking(text: string, signature: string): Wire {
  return { type: "thinking", thinking: text, signature };
}

function contentOf({ blocks, annotations }: Choice): Wire[] {
  const content = withoutLateThoughts(blocks).flatMap((block, index) => blockOf(block, index));
  const cited = content.findLast((block) => block["type"] === "text");
  const citations = citationsOf(annotations);
  if (cited && citations.length > 0) cited["citations"] = citations;
  return content;
}

/** As in a stream (see `SegmentQueue`): sealed thoughts never stand between words, nor behind the last of them. */
function withoutLateThoughts(blocks: readonly Block[]): Block[] {
  const kept: Block[] = [];
  let late: Block[] = [];
  for (const block of blocks) {
    const last = kept[kept.length - 1];
    if (last?.type === "text" && isSealed(block)) late.push(block);
    else if (block.type === "text" && last?.type === "text" && late.length > 0)
      kept[kept.length - 1] = { ...last, text: last.text + block.text };
    else {
      for (const thought of late) kept.push(thought);
      kept.push(block);
      late = [];
    }
  }
  return kept;
}

/** Another maker's thoughts, without words. */
function isSealed(block: Block): boolean {
  if (block.type !== "reasoning" || block.text !== "") return false;
  return (block.signature ?? block.encrypted)?.dialect !== NAME;
}

function citationsOf(annotations: readonly Annotation[]): Wire[] {
  return annotations.map(wireCitation).filter((entry) => entry !== null);
}

function blockOf(block: Block, index: number): Wire[] {
  switch (block.type) {
    case "text":
    case "refusal":
      return block.text === "" ? [] : [{ type: "text", text: block.text }];
    case "reasoning":
      return thoughtBlocks(block);
    case "tool_call": {
      const call = callBlock(block, wireToolId(block.id === "" ? `call_${index}` : block.id), block.name);
      return block.signature ? [callProof(block.signature), call] : [call];
    }
    case "opaque":
      return block.dialect === NAME ? [block.value as Wire] : [];
    default:
      return [];
  }
}
