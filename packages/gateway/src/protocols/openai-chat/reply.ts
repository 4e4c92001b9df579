import { noUsage } from "@sluicegate/contract";
import type { ReplyFacts } from "../../core/call.ts";
import type { ProviderFailure } from "../../core/errors.ts";
import { type Fields, isAbsent, isObject } from "../field-checks.ts";
import { classifyFailure } from "../openai-error.ts";
import { invalidReply, mergeUsage, type Quirks } from "../protocol.ts";
import { finishReasonOf } from "./finish.ts";
import { readUsage } from "./usage.ts";

/** What a 200 JSON answer says; a failure for HTML, half a JSON, no choices, or an error under a 200. */
export function readReply(body: Buffer, quirks: Quirks): ReplyFacts | { failure: ProviderFailure } {
  let reply: unknown;
  try {
    reply = JSON.parse(body.toString("utf8"));
  } catch {
    return { failure: invalidReply(200, "the answer is not JSON") };
  }
  if (!isObject(reply)) return { failure: invalidReply(200, "the answer is no JSON object") };
  const choices = reply["choices"];
  if (!isAbsent(reply["error"]) && !(Array.isArray(choices) && choices.length > 0)) {
    return { failure: classifyFailure(errorStatus(reply["error"]), {}, body) };
  }
  if (!Array.isArray(choices) || choices.length === 0)
    return { failure: invalidReply(200, "the answer holds no choices") };
  const report = readUsage(reply["usage"], quirks);
  const usage = report ? noUsage() : null;
  if (usage && report) mergeUsage(usage, report);
  return {
    model: typeof reply["model"] === "string" ? reply["model"] : null,
    usage,
    finishReason: finishOf(choices),
    outputChars: usage ? 0 : charsOf(choices),
  };
}

function errorStatus(error: unknown): number {
  const code = isObject(error) ? Number(error["code"] ?? error["status"]) : Number.NaN;
  return code >= 400 && code < 600 ? code : 502;
}

function finishOf(choices: unknown[]): ReplyFacts["finishReason"] {
  const [first] = choices;
  if (!isObject(first)) return null;
  const reason = finishReasonOf(first["finish_reason"]);
  const message = first["message"];
  const called = isObject(message) && Array.isArray(message["tool_calls"]) && message["tool_calls"].length > 0;
  return called && reason === "stop" ? "tool_calls" : reason;
}

/** Output characters of every choice: text, reasoning, refusal, tool arguments. */
function charsOf(choices: unknown[]): number {
  let chars = 0;
  for (const choice of choices) {
    const message = isObject(choice) ? choice["message"] : null;
    if (!isObject(message)) continue;
    for (const key of ["content", "reasoning_content", "reasoning", "refusal"]) chars += length(message[key]);
    if (Array.isArray(message["tool_calls"])) {
      for (const call of message["tool_calls"] as Fields[]) {
        chars += isObject(call["function"])
          ? length(call["function"]["arguments"]) + length(call["function"]["name"])
          : 0;
      }
    }
  }
  return chars;
}

function length(value: unknown): number {
  if (typeof value === "string") return value.length;
  return isAbsent(value) ? 0 : JSON.stringify(value).length;
}
