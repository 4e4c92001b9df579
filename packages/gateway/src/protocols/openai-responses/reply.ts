import type { ReplyFacts } from "../../core/call.ts";
import type { ProviderFailure } from "../../core/errors.ts";
import type { Annotation, Block, Reply, ToolCallBlock } from "../../core/message.ts";
import type { FinishReason } from "../../core/stream-part.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { entryOf, type Fields, isObject, wordOf } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { pushAll } from "../push-all.ts";
import { parsedArguments } from "../tool-arguments.ts";
import { readToolName } from "../tool-names.ts";
import { readAnnotation, readItemAnnotation } from "./annotations.ts";
import { classifyFailure } from "./error.ts";
import { readUsage } from "./usage.ts";

const DIALECT = "openai-responses";
/** Statuses that stand for the codes of a failed response which name none. */
const CODE_STATUS: Readonly<Record<string, number>> = {
  server_error: 500,
  invalid_prompt: 400,
  bio_policy: 400,
  cyber_policy: 400,
  vector_store_timeout: 504,
};

/** What a 200 JSON answer says; a failure for HTML, half a JSON, no output, or a response that failed. */
export function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const report = readUsage(reply["usage"]);
  const usage = wholeUsage(report);
  const failure = failureIn(reply, nowMs);
  if (failure) return { failure, usage };
  if (!Array.isArray(reply["output"])) return { ...invalidReply("the answer holds no output"), usage };
  const output = reply["output"].filter(isObject);
  return {
    model: typeof reply["model"] === "string" && reply["model"] !== "" ? reply["model"] : null,
    usage,
    finishReason: finishOf(reply, holdsCalls(output)),
    outputChars: usage ? 0 : output.reduce((chars, item) => chars + charsOf(item), 0),
  };
}

/** What a good answer says, in canonical form. */
export function decodeReply(body: Buffer): Reply {
  const reply = replyObject(body) ?? {};
  const output = Array.isArray(reply["output"]) ? reply["output"].filter(isObject) : [];
  const report = readUsage(reply["usage"]);
  const logprobs: unknown[] = [];
  const annotations: Annotation[] = [];
  const blocks = output.flatMap((item) => {
    const found = itemBlocks(item, annotations, logprobs);
    if (found.length === 0) pushAll(annotations, readItemAnnotation(item));
    return found;
  });
  return {
    id: typeof reply["id"] === "string" ? reply["id"] : null,
    model: typeof reply["model"] === "string" ? reply["model"] : null,
    choices: [
      {
        blocks,
        finish: finishOf(reply, holdsCalls(output)),
        stopSequence: null,
        logprobs: logprobs.length > 0 ? logprobs : null,
        annotations,
      },
    ],
    usage: wholeUsage(report),
  };
}

/** Why a response stopped; null while it runs (in the background). A call that was made counts before a plain stop (WIRE C1). */
export function finishOf(response: Fields, called: boolean): FinishReason | null {
  const details = isObject(response["incomplete_details"]) ? response["incomplete_details"] : {};
  switch (response["status"]) {
    case "queued":
    case "in_progress":
      return null;
    case "incomplete":
      return details["reason"] === "content_filter" ? "content_filter" : "length";
    case "failed":
    case "cancelled":
      return "error";
    default:
      return called ? "tool_calls" : "stop";
  }
}

/** The status that the error of a failed response stands for; null when nothing says. */
export function failedStatus(said: Fields): number | null {
  const error = isObject(said["error"]) ? said["error"] : said;
  const code = error["code"];
  return statusNamed(said) ?? (typeof code === "string" ? (entryOf(CODE_STATUS, code) ?? null) : null);
}

/** The canonical blocks of one output item; none for what has no place there. */
function itemBlocks(item: Fields, annotations: Annotation[], logprobs: unknown[]): Block[] {
  switch (item["type"]) {
    case "message":
      return messageBlocks(item, annotations, logprobs);
    case "function_call":
    case "custom_tool_call":
      return [callBlock(item)];
    case "reasoning": {
      const text = thoughtOf(item);
      const sealed = item["encrypted_content"];
      const encrypted = typeof sealed === "string" && sealed !== "" ? { dialect: DIALECT, value: sealed } : null;
      return text === "" && !encrypted ? [] : [{ type: "reasoning", text, ...(encrypted && { encrypted }) }];
    }
    default:
      return [];
  }
}

/** The words of a reasoning item: its summaries, and the text itself where a provider shows it. */
function thoughtOf(item: Fields): string {
  return [item["summary"], item["content"]]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((piece) =>
      isObject(piece) && typeof piece["text"] === "string" && piece["text"] !== "" ? piece["text"] : [],
    )
    .join("\n\n");
}

function messageBlocks(item: Fields, annotations: Annotation[], logprobs: unknown[]): Block[] {
  const content = Array.isArray(item["content"]) ? item["content"].filter(isObject) : [];
  return content.flatMap((part): Block[] => {
    if (part["type"] === "refusal") return [{ type: "refusal", text: wordOf(part["refusal"]) }];
    if (typeof part["text"] !== "string") return [];
    if (Array.isArray(part["logprobs"])) for (const entry of part["logprobs"]) logprobs.push(entry);
    for (const found of Array.isArray(part["annotations"]) ? part["annotations"] : [])
      annotations.push(readAnnotation(found));
    return [{ type: "text", text: part["text"] }];
  });
}

function callBlock(item: Fields): ToolCallBlock {
  const custom = item["type"] === "custom_tool_call";
  const given = custom ? item["input"] : item["arguments"];
  // A string as a rule; some send the object itself.
  const text = typeof given === "string" ? given : given ? JSON.stringify(given) : "";
  const parsed = custom ? undefined : parsedArguments(text);
  return {
    type: "tool_call",
    id: wordOf(item["call_id"] ?? item["id"]),
    name: readToolName(wordOf(item["name"])),
    ...(parsed && { arguments: parsed }),
    text,
    ...(custom && { custom: true as const }),
  };
}

function failureIn(reply: Fields, nowMs: number): ProviderFailure | null {
  const failed = reply["status"] === "failed" || reply["status"] === "cancelled";
  if (!failed && !holdsError(reply["error"]) && reply["object"] !== "error") return null;
  const said = holdsError(reply["error"])
    ? { error: reply["error"] }
    : { error: { message: `the response ${wordOf(reply["status"])}` } };
  return classifyFailure(failedStatus(said) ?? statusNamed(reply) ?? 502, {}, Buffer.from(JSON.stringify(said)), nowMs);
}

function holdsCalls(output: readonly Fields[]): boolean {
  return output.some((item) => item["type"] === "function_call" || item["type"] === "custom_tool_call");
}

/** Output characters of one item, where usage has to be estimated. */
function charsOf(item: Fields): number {
  return itemBlocks(item, [], []).reduce((chars, block) => chars + ("text" in block ? block.text.length : 0), 0);
}
