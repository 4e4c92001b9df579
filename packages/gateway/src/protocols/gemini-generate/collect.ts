import { noUsage, type Usage } from "@sluicegate/contract";
import type { Block, Choice, Reply, ToolCallBlock } from "../../core/message.ts";
import type { Signature, StreamPart } from "../../core/stream-part.ts";
import { mergeUsage } from "../protocol.ts";
import { parsedArguments } from "../tool-arguments.ts";

/** The answer that the parts of a whole stream say. Choices stand in the order of their numbers. */
export function collectReply(parts: readonly StreamPart[]): Reply {
  const choices = new Map<number, ChoiceInParts>();
  const reply: Reply = { id: null, model: null, choices: [], usage: null };
  let usage: Usage | null = null;
  for (const part of parts) {
    if (part.type === "start") {
      reply.id = part.id;
      reply.model = part.model;
    } else if (part.type === "usage") {
      usage = mergeUsage(usage ?? noUsage(), part.usage);
    } else if (part.type !== "error") {
      let choice = choices.get(part.choice);
      if (!choice) {
        choice = openChoice();
        choices.set(part.choice, choice);
      }
      addPart(choice, part);
    }
  }
  const order = [...choices.keys()].sort((a, b) => a - b);
  return { ...reply, usage, choices: order.flatMap((key) => choices.get(key)?.choice ?? []) };
}

interface ChoiceInParts {
  choice: Choice;
  calls: Map<number, ToolCallBlock>;
}

function openChoice(): ChoiceInParts {
  return {
    choice: { blocks: [], finish: null, stopSequence: null, logprobs: null, annotations: [] },
    calls: new Map(),
  };
}

type ChoicePart = Exclude<StreamPart, { type: "start" | "usage" | "error" }>;

function addPart({ choice, calls }: ChoiceInParts, part: ChoicePart): void {
  const { blocks } = choice;
  switch (part.type) {
    case "text":
      if (part.logprobs) choice.logprobs = [...(choice.logprobs ?? []), ...part.logprobs];
      if (part.text !== "") addText(blocks, "text", part.text);
      return;
    case "refusal":
      return addText(blocks, "refusal", part.text);
    case "reasoning":
      return addReasoning(blocks, part.text, part.signature, part.encrypted);
    case "tool_start": {
      const { id, name, custom, signature } = part;
      const call: ToolCallBlock = {
        ...{ type: "tool_call" as const, id, name, text: "" },
        ...(custom && { custom }),
        ...(signature && { signature }),
      };
      calls.set(part.index, call);
      blocks.push(call);
      return;
    }
    case "tool_arguments": {
      const call = calls.get(part.index);
      if (call) call.text += part.text;
      return;
    }
    case "tool_end": {
      const call = calls.get(part.index);
      const given = call && !call.custom ? parsedArguments(call.text) : undefined;
      if (call && given) call.arguments = given;
      return;
    }
    case "annotation":
      choice.annotations.push(part.annotation);
      return;
    case "finish":
      choice.finish = part.reason;
      choice.stopSequence = part.stopSequence ?? null;
  }
}

function addText(blocks: Block[], type: "text" | "refusal", text: string): void {
  const last = blocks[blocks.length - 1];
  if (last?.type === type) last.text += text;
  else blocks.push({ type, text });
}

/** A signature ends a block of thoughts. */
function addReasoning(blocks: Block[], text: string, signature?: Signature, encrypted?: Signature): void {
  const last = blocks[blocks.length - 1];
  if (last?.type === "reasoning" && !last.signature && !last.encrypted && !encrypted && text + last.text !== "") {
    last.text += text;
    if (signature) last.signature = signature;
    return;
  }
  blocks.push({ type: "reasoning", text, ...(signature && { signature }), ...(encrypted && { encrypted }) });
}
