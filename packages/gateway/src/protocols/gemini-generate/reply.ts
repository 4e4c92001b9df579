import type { ReplyFacts } from "../../core/call.ts";
import type { ProviderFailure } from "../../core/errors.ts";
import type { Reply } from "../../core/message.ts";
import { holdsError, statusNamed } from "../error-facts.ts";
import { bodyJson, holdsTexts } from "../exact-json.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { type FailedReply, invalidReply, type Quirks, replyObject, wholeUsage } from "../protocol.ts";
import type { Shown } from "../translation.ts";
import { collectReply } from "./collect.ts";
import { blockReason, classifyFailure } from "./error.ts";
import { pick, pickList, pickString } from "./fields.ts";
import { failedFinish, finishReasonOf, finishWord } from "./finish.ts";
import { candidateOf, responseOf } from "./response.ts";
import { streamReader } from "./stream.ts";
import { readUsage } from "./usage.ts";

/** What a 200 JSON answer says; a failure for HTML, half a JSON, no candidates, a blocked prompt, a candidate that failed. */
export function readReply(body: Buffer, _quirks: Quirks, nowMs: number): ReplyFacts | FailedReply {
  const reply = replyObject(body);
  if (!reply) return invalidReply("the answer is no JSON object");
  const report = readUsage(pick(reply, "usageMetadata"));
  const usage = wholeUsage(report);
  const candidates = pickList(reply, "candidates").filter(isObject);
  const first = candidates[0];
  const failure = failureIn(reply, first, body, nowMs);
  if (failure) return { failure, usage };
  if (!first) return { ...invalidReply("the answer holds no candidates"), usage };
  const word = finishWord(pick(first, "finishReason"));
  if (word === undefined && partsOf(first).length === 0)
    return { ...invalidReply("the answer's candidate says nothing"), usage };
  return {
    model: pickString(reply, "modelVersion") || null,
    usage,
    finishReason: word === undefined ? null : finishReasonOf(word, calls(first)),
    outputChars: usage ? 0 : candidates.reduce((sum, candidate) => sum + charsOf(candidate), 0),
  };
}

function failureIn(reply: Fields, first: Fields | undefined, body: Buffer, nowMs: number): ProviderFailure | null {
  if (holdsError(reply["error"])) return classifyFailure(statusNamed(reply) ?? 502, {}, body, nowMs);
  if (blockReason(reply) !== null) return { ...classifyFailure(400, {}, body, nowMs), httpStatus: 200 };
  const word = first && finishWord(pick(first, "finishReason"));
  if (!first || word === undefined || finishReasonOf(word, false) !== "error") return null;
  const said = Buffer.from(JSON.stringify(failedFinish(word, pick(first, "finishMessage"))));
  return classifyFailure(502, {}, said, nowMs);
}

function partsOf(candidate: Fields): Fields[] {
  const content = candidate["content"];
  return isObject(content) ? pickList(content, "parts").filter(isObject) : [];
}

function calls(candidate: Fields): boolean {
  return partsOf(candidate).some((part) => pick(part, "functionCall") !== undefined);
}

function charsOf(candidate: Fields): number {
  return partsOf(candidate).reduce((sum, part) => {
    const call = pick(part, "functionCall");
    const text = part["text"];
    return sum + (typeof text === "string" ? text.length : call === undefined ? 0 : JSON.stringify(call).length);
  }, 0);
}

/** A good answer in canonical form: one event of a stream says the same as a whole answer. */
export function decodeReply(body: Buffer): Reply {
  const { parts } = streamReader().read(body.toString("utf8"), null);
  const reply = collectReply(parts);
  // One without a model has no start.
  return { ...reply, id: reply.id ?? pickString(replyObject(body) ?? {}, "responseId") ?? null };
}

/** The answer as Gemini's clients expect it. */
export function encodeReply(answer: Reply, shown: Shown): Buffer {
  const candidates = answer.choices.map((choice, index) => candidateOf(choice, index));
  const response = responseOf(candidates, answer.model, answer.usage, shown);
  return Buffer.from(bodyJson(response, holdsTexts(answer.choices)));
}
