import type { Choice, ReasoningBlock, Reply, ToolCallBlock } from "../../core/message.ts";
import type { Fields } from "../field-checks.ts";
import { customInput } from "../tool-arguments.ts";
import type { Shown } from "../translation.ts";
import { sayAnnotations } from "./annotations.ts";
import { answerId, type ClientTools, clientTools } from "./client-tools.ts";
import { finishWord } from "./finish.ts";
import { callDetail, detailsOf, googleContent } from "./reasoning.ts";
import { renderUsage } from "./usage.ts";

/** An answer as a `chat.completion` (WIRE A1.3). */
export function encodeReply(reply: Reply, shown: Shown): Buffer {
  const tools = clientTools(shown);
  return Buffer.from(
    JSON.stringify({
      id: answerId("chatcmpl-", shown),
      object: "chat.completion",
      created: shown.createdS,
      model: reply.model ?? shown.model,
      choices: reply.choices.map((choice, index) => encodeChoice(choice, index, tools)),
      ...(reply.usage && { usage: renderUsage(reply.usage) }),
    }),
  );
}

function encodeChoice(choice: Choice, index: number, tools: ClientTools): Fields {
  const { blocks, logprobs, finish, annotations } = choice;
  const calls = blocks.filter((block) => block.type === "tool_call");
  const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const refusals = blocks.flatMap((block) => (block.type === "refusal" ? [block.text] : []));
  const thoughts = blocks.filter((block) => block.type === "reasoning");
  const reason = calls.length > 0 && (finish === "stop" || finish === null) ? "tool_calls" : (finish ?? "stop");
  return {
    index,
    message: {
      role: "assistant",
      content: texts.length > 0 ? texts.join("") : null,
      refusal: refusals.length > 0 ? refusals.join("") : null,
      ...reasoningMembers(thoughts, calls),
      ...(calls.length > 0 && callMembers(calls, tools)),
      ...sayAnnotations(annotations),
    },
    logprobs: logprobs ? { content: logprobs, refusal: null } : null,
    finish_reason: finishWord(reason, tools.older),
  };
}

/** The text for everybody; the details only where something is signed or encrypted, for clients that send them back. */
function reasoningMembers(thoughts: readonly ReasoningBlock[], calls: readonly ToolCallBlock[]): Fields {
  const text = thoughts.map((block) => block.text).join("");
  const signed =
    thoughts.some(({ signature, encrypted }) => signature ?? encrypted) || calls.some((call) => call.signature);
  const details: Fields[] = [];
  if (signed) {
    for (const block of thoughts) details.push(...detailsOf(block, details.length));
    for (const { id, signature } of calls) if (signature) details.push(callDetail(id, signature, details.length));
  }
  return {
    ...(text !== "" && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

function callMembers(calls: readonly ToolCallBlock[], { older, custom }: ClientTools): Fields {
  const [first] = calls;
  if (older && first) return { function_call: { name: first.name, arguments: argumentsText(first) } };
  return {
    tool_calls: calls.map((call) => ({
      id: call.id,
      ...(call.custom
        ? { type: "custom", custom: { name: call.name, input: call.text } }
        : custom.has(call.name)
          ? { type: "custom", custom: { name: call.name, input: customInput(argumentsText(call)) } }
          : { type: "function", function: { name: call.name, arguments: argumentsText(call) } }),
      ...(call.signature && { extra_content: googleContent(call.signature) }),
    })),
  };
}

/** A tool without parameters is called with `{}`. */
function argumentsText(call: ToolCallBlock): string {
  return call.text.trim() === "" ? JSON.stringify(call.arguments ?? {}) : call.text;
}
