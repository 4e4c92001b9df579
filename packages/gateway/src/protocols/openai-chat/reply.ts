import type { ReplyFacts } from "../../core/call.ts";
import type { ProviderFailure } from "../../core/errors.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { type Fields, isAbsent, isObject } from "../field-checks.ts";
import { classifyFailure } from "../openai-error.ts";
import { asciiBody, type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import { failedFinishStatus, finishReasonOf } from "./finish.ts";
import { readUsage } from "./usage.ts";

/** What a 200 JSON answer says; a failure for HTML, half a JSON, no choices, or an error under a 200. */
export function readReply(body: Buffer, quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const ascii = asciiBody(body);
  const reply = replyObject(body, ascii);
  if (!reply) return invalidReply("the answer is no JSON object");
  const report = readUsage(reply["usage"], quirks);
  const usage = wholeUsage(report);
  const choices = Array.isArray(reply["choices"]) ? reply["choices"] : [];
  const first: unknown = choices[0];
  const failure = failureIn(reply, isObject(first) ? first : null, body, nowMs);
  if (failure) return { failure, usage };
  if (!isObject(first)) return { ...invalidReply("the answer holds no choices"), usage };
  return {
    model: typeof reply["model"] === "string" && reply["model"] !== "" ? reply["model"] : null,
    usage,
    finishReason: finishOf(first),
    outputChars: usage ? 0 : charsOf(choices),
    ascii,
  };
}

/** An `error` beside the choices or in one of them (OpenRouter does both), or a finish reason that says so. */
function failureIn(reply: Fields, first: Fields | null, body: Buffer, nowMs: number): ProviderFailure | null {
  const finish = first?.["finish_reason"];
  const failed = failedFinishStatus(finish);
  const atTop = holdsError(reply["error"]) || reply["object"] === "error";
  const inChoice = !atTop && holdsError(first?.["error"]);
  // Beside an answer that ended well it is a remark.
  if (failed === null && (!(atTop || inChoice) || finishReasonOf(finish) !== null)) return null;
  const said = atTop ? reply : inChoice ? { error: first?.["error"] } : {};
  return classifyFailure(
    statusNamed(said) ?? failed ?? 502,
    {},
    atTop ? body : Buffer.from(JSON.stringify(said)),
    nowMs,
  );
}

function finishOf(first: Fields): ReplyFacts["finishReason"] {
  const reason = finishReasonOf(first["finish_reason"]);
  const message = first["message"];
  const called = isObject(message) && callsIn(message).length > 0;
  // Some say `stop` although they called tools, some nothing at all (Snowflake).
  return called && (reason === "stop" || reason === null) ? "tool_calls" : reason;
}

/** The calls of a message as `{function}`; of the older form the one there is, which some send empty (Snowflake). */
function callsIn({ tool_calls: calls, function_call: older }: Fields): unknown[] {
  if (Array.isArray(calls) && calls.length > 0) return calls;
  return isObject(older) && older["name"] ? [{ function: older }] : [];
}

/** Output characters of every choice: text, reasoning, refusal, tool arguments. */
function charsOf(choices: unknown[]): number {
  let chars = 0;
  for (const choice of choices) {
    if (isObject(choice)) chars += length(choice["text"]);
    const message = isObject(choice) ? choice["message"] : null;
    if (!isObject(message)) continue;
    for (const key of ["content", "reasoning_content", "reasoning", "refusal"]) chars += length(message[key]);
    for (const call of callsIn(message)) {
      if (!isObject(call)) continue;
      for (const named of [call["function"], call["custom"]])
        if (isObject(named)) chars += length(named["arguments"]) + length(named["input"]) + length(named["name"]);
    }
  }
  return chars;
}

function length(value: unknown): number {
  if (typeof value === "string") return value.length;
  return isAbsent(value) ? 0 : JSON.stringify(value).length;
}
