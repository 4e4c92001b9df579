import type { Usage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import type { Annotation, Block, Reply, ToolCallBlock } from "../../core/message.ts";
import { madeCallId } from "../call-ids.ts";
import { classifyCohereFailure } from "../cohere-error.ts";
import { type Fields, isAbsent, isObject, wordOf } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { parsedArguments } from "../tool-arguments.ts";
import { readToolName } from "../tool-names.ts";
import { annotationOf } from "./annotations.ts";
import { failedFinishStatus, finishReasonOf } from "./finish.ts";
import { usageOf } from "./usage.ts";
import { NAME } from "./wire.ts";

/** What a 200 answer says; a failure for HTML, half a JSON, no message, or an answer that ended in an error. */
export function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const usage = replyUsage(reply);
  const failed = failedFinishStatus(reply["finish_reason"]);
  if (failed !== null) return { failure: classifyCohereFailure(failed, {}, failureBody(reply), nowMs), usage };
  const message = messageOf(reply);
  if (!message) return { ...invalidReply("the answer holds no message"), usage };
  return {
    model: null,
    usage,
    finishReason: finishReasonOf(reply["finish_reason"], callsOf(message).length > 0),
    outputChars: usage ? 0 : JSON.stringify(message).length,
  };
}

/** What an answer that ended in an error says of it. */
function failureBody(reply: Fields): Buffer {
  const error = reply["error"] ?? reply["message"];
  const said =
    typeof error === "string" && error !== "" ? error : `the answer ended with ${wordOf(reply["finish_reason"])}`;
  const type = reply["error_type"];
  return Buffer.from(JSON.stringify({ message: said, ...(typeof type === "string" && { error_type: type }) }));
}

/** A good answer in canonical form. It does not name its model. */
export function decodeReply(body: Buffer): Reply {
  const reply = replyObject(body) ?? {};
  const message = messageOf(reply) ?? {};
  const id = typeof reply["id"] === "string" && reply["id"] !== "" ? reply["id"] : null;
  const calls = callsOf(message).map((call, index) => decodeCall(call, index, id ?? ""));
  const plan = message["tool_plan"];
  const citations = Array.isArray(message["citations"]) ? message["citations"].filter(isObject) : [];
  const annotations: Annotation[] = citations.map(annotationOf);
  return {
    id,
    model: null,
    choices: [
      {
        blocks: [
          ...contentOf(message),
          // Said before the calls, and of them.
          ...(typeof plan === "string" && plan !== "" ? [{ type: "text" as const, text: plan }] : []),
          ...calls,
        ],
        finish: finishReasonOf(reply["finish_reason"], calls.length > 0),
        stopSequence: null,
        logprobs: null,
        annotations,
      },
    ],
    usage: replyUsage(reply),
  };
}

function messageOf(reply: Fields): Fields | null {
  return isObject(reply["message"]) ? reply["message"] : null;
}

function callsOf(message: Fields): Fields[] {
  return Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isObject) : [];
}

function contentOf({ content }: Fields): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((piece, index): Block[] => {
    const { type, text, thinking } = piece;
    if (type === "thinking") {
      return typeof thinking === "string" && thinking !== "" ? [{ type: "reasoning", text: thinking }] : [];
    }
    if (typeof text === "string") return text === "" ? [] : [{ type: "text", text }];
    return [{ type: "opaque", dialect: NAME, path: `message.content[${index}]`, value: piece }];
  });
}

function decodeCall(call: Fields, index: number, place: string): ToolCallBlock {
  const named = isObject(call["function"]) ? call["function"] : {};
  const name = readToolName(typeof named["name"] === "string" ? named["name"] : "");
  const given = named["arguments"];
  const said = typeof given === "string" ? given : isAbsent(given) ? "" : JSON.stringify(given);
  // So a call without arguments is told.
  const text = said.trim() === "null" ? "{}" : said;
  const parsed = parsedArguments(text);
  const id = typeof call["id"] === "string" && call["id"] !== "" ? call["id"] : madeCallId(place, index, name);
  return { type: "tool_call", id, name, ...(parsed && { arguments: parsed }), text };
}

function replyUsage(reply: Fields): Usage | null {
  return wholeUsage(usageOf(reply["usage"]));
}
