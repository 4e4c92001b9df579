import type { Usage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import type { Block, Reply } from "../../core/message.ts";
import { madeCallId } from "../call-ids.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { parsedArguments } from "../tool-arguments.ts";
import { readToolName } from "../tool-names.ts";
import { annotationOf } from "./annotations.ts";
import { finishReasonOf, stopSequenceOf } from "./finish.ts";
import { proofOf } from "./proof.ts";
import { usageOf } from "./usage.ts";

/** What a whole answer says, as the adapter gives it. */
export function readReply(body: Buffer, _quirks: Quirks): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  const content = reply && contentOf(reply);
  if (!reply || !content) return invalidReply("the answer holds no content");
  const usage = replyUsage(reply);
  return {
    model: textOf(reply["modelId"]),
    usage,
    finishReason: finishReasonOf(reply["finishReason"], content.some(isCall)),
    outputChars: usage ? 0 : JSON.stringify(content).length,
  };
}

/** A good answer in canonical form. */
export function decodeReply(body: Buffer): Reply {
  const reply = replyObject(body) ?? {};
  const content = contentOf(reply) ?? [];
  const id = textOf(reply["id"]);
  return {
    id,
    model: textOf(reply["modelId"]),
    choices: [
      {
        blocks: content.flatMap((part, index) => blockOf(part, index, id ?? "")),
        finish: finishReasonOf(reply["finishReason"], content.some(isCall)),
        stopSequence: stopSequenceOf(reply["providerMetadata"]),
        logprobs: null,
        annotations: content.filter(({ type }) => type === "source" || type === "file").map(annotationOf),
      },
    ],
    usage: replyUsage(reply),
  };
}

function contentOf({ content }: Fields): Fields[] | null {
  return Array.isArray(content) ? content.filter(isObject) : null;
}

/** A tool that the provider runs itself is no call for the client. */
function isCall({ type, providerExecuted }: Fields): boolean {
  return type === "tool-call" && providerExecuted !== true;
}

function blockOf(part: Fields, index: number, place: string): Block[] {
  const { type, text, providerMetadata } = part;
  if (type === "text") return typeof text === "string" && text !== "" ? [{ type, text }] : [];
  const signature = proofOf(providerMetadata);
  if (type === "reasoning") {
    const thought = textOf(text) ?? "";
    if (thought === "") return signature ? [{ type, text: "", encrypted: signature }] : [];
    return [{ type, text: thought, ...(signature && { signature }) }];
  }
  if (!isCall(part)) return [];
  const name = readToolName(textOf(part["toolName"]) ?? "");
  const said = textOf(part["input"]) ?? JSON.stringify(part["input"] ?? {});
  const parsed = parsedArguments(said);
  const id = textOf(part["toolCallId"]) ?? madeCallId(place, index, name);
  return [
    { type: "tool_call", id, name, ...(parsed && { arguments: parsed }), text: said, ...(signature && { signature }) },
  ];
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function replyUsage(reply: Fields): Usage | null {
  return wholeUsage(usageOf(reply["usage"], reply["providerMetadata"]));
}
