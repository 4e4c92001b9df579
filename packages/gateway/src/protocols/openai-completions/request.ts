import type { Call, Capability } from "../../core/call.ts";
import type { Bytes } from "../../core/pieces.ts";
import {
  checkBoolean,
  checkInteger,
  checkModel,
  checkNumber,
  type Fields,
  isAbsent,
  missingField,
  wrongField,
} from "../field-checks.ts";
import { checkStop, checkStreamOptions, spliceRequest } from "../openai-chat/request.ts";
import { plainBody, plainCall, roughTokens } from "../plain-call.ts";
import type { ClientRequest, Target } from "../protocol.ts";

/** Decodes and checks a Completions body. Throws invalid_request with the path of a known field of the wrong type. */
export function decodeRequest(request: ClientRequest): Call {
  const { body, members, modelAt, platform } = plainBody(request);
  const alias = request.path.alias ?? checkModel(body);
  checkPrompt(body["prompt"]);
  for (const key of ["temperature", "top_p", "frequency_penalty", "presence_penalty"]) checkNumber(body, key);
  for (const key of ["seed", "best_of", "logprobs"]) checkInteger(body, key);
  checkBoolean(body, "echo");
  checkStop(body["stop"]);
  const stream = checkBoolean(body, "stream");
  const streamOptions = checkStreamOptions(body);
  const { prompt } = body;
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
  return plainCall(request, {
    dialect: "openai-completions",
    operation: "completions",
    alias,
    stream,
    needs: needsOf(body),
    maxOutputTokens: checkInteger(body, "max_tokens"),
    // Every prompt gets `n` answers.
    choices: prompts * Math.max(1, checkInteger(body, "n") ?? 1),
    inputTokensEstimate: roughTokens(request.raw.length),
    showsUsage: streamOptions?.["include_usage"] === true,
    platform,
    body,
    members,
    modelAt,
  });
}

/** The client's bytes for an upstream of the same protocol: model spliced, usage asked for, platform members taken out. */
export function passRequest(call: Call, target: Target): Bytes {
  return spliceRequest(call, target, new Map());
}

/** A text, texts, the tokens of a text, or the tokens of several. */
function checkPrompt(prompt: unknown): void {
  if (isAbsent(prompt)) throw missingField("prompt", "a string, an array of strings, or tokens");
  if (typeof prompt === "string") return;
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw wrongField("prompt", "a string or an array that is not empty");
  prompt.forEach((item: unknown, index) => {
    const tokens = Array.isArray(item) && item.every((token) => Number.isInteger(token));
    if (typeof item === "string" || Number.isInteger(item) || tokens) return;
    throw wrongField(`prompt[${index}]`, "a string, a token, or an array of tokens");
  });
}

function needsOf(body: Fields): Set<Capability> {
  const needs = new Set<Capability>();
  if (typeof body["n"] === "number" && body["n"] > 1) needs.add("n");
  if (typeof body["logprobs"] === "number") needs.add("logprobs");
  return needs;
}
