import type { Usage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import type { Annotation, Block, Choice, Reply } from "../../core/message.ts";
import { keepTexts } from "../exact-json.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { pushAll } from "../push-all.ts";
import { readToolName } from "../tool-names.ts";
import { annotationOf } from "./annotations.ts";
import { textBlock, textOf, toolCall } from "./canonical-blocks.ts";
import { classifyFailure, saidError, statusOf } from "./error.ts";
import { finishReasonOf } from "./finish.ts";
import { readCounts, usageOf } from "./usage.ts";
import { NAME } from "./wire.ts";

/** Where the arguments of calls stand. */
const INPUTS = ["content", "*", "input"];

/** What a 200 JSON answer says; a failure for HTML, half a JSON, no content, or an error under a 200. */
export function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const usage = replyUsage(reply);
  if (saidError(reply)) return { failure: classifyFailure(statusOf(reply) ?? 502, {}, body, nowMs), usage };
  if (!Array.isArray(reply["content"])) return { ...invalidReply("the answer holds no content"), usage };
  const content = reply["content"].filter(isObject);
  return {
    model: modelOf(reply),
    usage,
    finishReason: finishOf(reply, content),
    outputChars: usage ? 0 : content.reduce((chars, block) => chars + charsOf(block), 0),
  };
}

/** A good JSON answer in canonical form. */
export function decodeReply(body: Buffer): Reply {
  const reply = replyObject(body) ?? {};
  keepTexts(reply, () => body, INPUTS);
  const content = Array.isArray(reply["content"]) ? reply["content"].filter(isObject) : [];
  const annotations: Annotation[] = [];
  const { stop_sequence: stopSequence } = reply;
  const choice: Choice = {
    blocks: content.flatMap((block, index) => blocksOf(block, index, annotations)),
    finish: finishOf(reply, content),
    stopSequence: typeof stopSequence === "string" ? stopSequence : null,
    logprobs: null,
    annotations,
  };
  return {
    id: typeof reply["id"] === "string" ? reply["id"] : null,
    model: modelOf(reply),
    choices: [choice],
    usage: replyUsage(reply),
  };
}

function blocksOf(block: Fields, index: number, annotations: Annotation[]): Block[] {
  switch (block["type"]) {
    case "text": {
      if (Array.isArray(block["citations"]))
        pushAll(annotations, block["citations"].filter(isObject).map(annotationOf));
      return [{ type: "text", text: textBlock(block).text }];
    }
    case "thinking": {
      const signature = textOf(block["signature"]);
      const text = textOf(block["thinking"]);
      if (text === "" && signature === "") return [];
      // As the provider made it: whatever it looks like, its proof is this dialect's own.
      return [{ type: "reasoning", text, ...(signature !== "" && { signature: { dialect: NAME, value: signature } }) }];
    }
    case "redacted_thinking":
      return [{ type: "reasoning", text: "", encrypted: { dialect: NAME, value: textOf(block["data"]) } }];
    case "tool_use":
      return [toolCall(block, readToolName(textOf(block["name"])), null)];
  }
  return [{ type: "opaque", dialect: NAME, path: `content[${index}]`, value: block }];
}

function finishOf(reply: Fields, content: readonly Fields[]): ReplyFacts["finishReason"] {
  const reason = finishReasonOf(reply["stop_reason"]);
  const called = content.some((block) => block["type"] === "tool_use");
  // Some say that the turn ended although it ended in a call.
  return called && (reason === "stop" || reason === null) ? "tool_calls" : reason;
}

function replyUsage(reply: Fields): Usage | null {
  const counts = {};
  return readCounts(reply["usage"], counts) ? wholeUsage(usageOf(counts)) : null;
}

function modelOf(reply: Fields): string | null {
  return typeof reply["model"] === "string" && reply["model"] !== "" ? reply["model"] : null;
}

/** Output characters of a block: text, thoughts, calls with their arguments. */
function charsOf(block: Fields): number {
  const input = isObject(block["input"]) ? JSON.stringify(block["input"]).length : 0;
  return [block["text"], block["thinking"], block["name"]].reduce<number>(
    (chars, value) => chars + textOf(value).length,
    input,
  );
}
