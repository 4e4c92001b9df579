import type { Usage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import type { Annotation, Block, Reply } from "../../core/message.ts";
import { classifyAwsFailure } from "../aws-error.ts";
import { holdsError } from "../error-facts.ts";
import { argumentsJson, keepTexts } from "../exact-json.ts";
import { type Fields, isObject, wordOf } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { pushAll } from "../push-all.ts";
import { readToolName } from "../tool-names.ts";
import { annotationOf } from "./annotations.ts";
import { finishReasonOf } from "./finish.ts";
import { stopSequenceOf } from "./stop-sequence.ts";
import { usageOf } from "./usage.ts";
import { ANSWER_TOOL, NAME } from "./wire.ts";

/** Where the arguments of calls stand. */
const INPUTS = ["output", "message", "content", "*", "toolUse", "input"];

/** What a 200 answer says; a failure for HTML, half a JSON, no message, or an error under a 200. */
export function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const usage = replyUsage(reply);
  const content = contentOf(reply);
  if (!content) {
    const failed = holdsError(reply["__type"]) || holdsError(reply["error"]);
    if (failed) return { failure: classifyAwsFailure(502, {}, body, nowMs), usage };
    return { ...invalidReply("the answer holds no message"), usage };
  }
  return {
    model: null,
    usage,
    finishReason: finishOf(reply, content),
    outputChars: usage ? 0 : content.reduce((chars, block) => chars + JSON.stringify(block).length, 0),
  };
}

/** A good answer in canonical form. It names neither itself nor its model. */
export function decodeReply(body: Buffer): Reply {
  const reply = replyObject(body) ?? {};
  keepTexts(reply, () => body, INPUTS);
  const content = contentOf(reply) ?? [];
  const annotations: Annotation[] = [];
  const blocks = content.flatMap((block, index) => blocksOf(block, index, annotations));
  const finish = finishOf(reply, content);
  return {
    id: null,
    model: null,
    choices: [{ blocks, finish, stopSequence: stopSequenceOf(reply), logprobs: null, annotations }],
    usage: replyUsage(reply),
  };
}

function contentOf(reply: Fields): Fields[] | null {
  const { output } = reply;
  const message = isObject(output) ? output["message"] : null;
  const content = isObject(message) ? message["content"] : null;
  return Array.isArray(content) ? content.filter(isObject) : null;
}

function blocksOf(block: Fields, index: number, annotations: Annotation[]): Block[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === "string") return [{ type: "text", text }];
  if (isObject(reasoningContent)) return thoughts(reasoningContent);
  if (isObject(toolUse) && !isOwnTool(toolUse)) return [callOf(toolUse)];
  if (isObject(citationsContent)) return cited(citationsContent, annotations);
  return [{ type: "opaque", dialect: NAME, path: `output.message.content[${index}]`, value: block }];
}

/** A tool that the provider itself ran. */
function isOwnTool(toolUse: Fields): boolean {
  return toolUse["type"] === "server_tool_use";
}

function callOf(toolUse: Fields): Block {
  const { toolUseId: id, name, input } = toolUse;
  const text = argumentsJson(input ?? {});
  if (name === ANSWER_TOOL) return { type: "text", text };
  return {
    type: "tool_call",
    id: wordOf(id),
    name: readToolName(wordOf(name)),
    ...(isObject(input ?? {}) && { arguments: (input ?? {}) as Fields }),
    text,
  };
}

function thoughts(content: Fields): Block[] {
  const sealed = content["redactedContent"];
  if (typeof sealed === "string" && sealed !== "") {
    return [{ type: "reasoning", text: "", encrypted: { dialect: NAME, value: sealed } }];
  }
  const said = isObject(content["reasoningText"]) ? content["reasoningText"] : {};
  const { text = "", signature = "" } = said;
  if (text === "" && signature === "") return [];
  return [
    {
      type: "reasoning",
      text: wordOf(text),
      ...(signature !== "" && { signature: { dialect: NAME, value: wordOf(signature) } }),
    },
  ];
}

function cited({ content, citations }: Fields, annotations: Annotation[]): Block[] {
  if (Array.isArray(citations)) pushAll(annotations, citations.filter(isObject).map(annotationOf));
  const texts = Array.isArray(content) ? content.map((part) => (isObject(part) ? wordOf(part["text"]) : "")) : [];
  return [{ type: "text", text: texts.join("") }];
}

function finishOf(reply: Fields, content: readonly Fields[]): ReplyFacts["finishReason"] {
  const calls = content.flatMap(({ toolUse }) => (isObject(toolUse) && !isOwnTool(toolUse) ? [toolUse["name"]] : []));
  const formed = calls.includes(ANSWER_TOOL);
  return finishReasonOf(reply["stopReason"], { called: calls.some((name) => name !== ANSWER_TOOL), formed });
}

function replyUsage(reply: Fields): Usage | null {
  return wholeUsage(usageOf(reply["usage"]));
}
