import type { JsonObject } from "../json.ts";
import type { Part, Plan, Usage } from "../models/plan.ts";
import { piecesOf } from "../models/text.ts";
import { DONE } from "../openai-chat/stream.ts";
import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import type { Stamp, Step, WireFormat } from "../wire.ts";
import { type CompletionsRequest, readCompletionsRequest } from "./request.ts";

/** OpenAI's older completions: POST /v1/completions. Only texts are told; calls and reasoning have no place in it. */
export const openAiCompletions: WireFormat = {
  dialect: "openai-completions",
  read(body, strict) {
    const request = readCompletionsRequest(body, strict);
    return {
      ask: request.ask,
      json: (plan, stamp) => JSON.stringify(completion(request, plan, stamp)),
      steps: (plan, stamp) => completionSteps(request, plan, stamp),
    };
  },
  errorBody: openAiErrorBody,
  errorStep: openAiErrorStep,
  endStep: DONE,
};

/** The texts of one choice: its prompt, when it is echoed, then the deltas. */
function choicesOf(request: CompletionsRequest, plan: Plan): string[][] {
  const answers = [plan.parts, ...plan.further];
  return answers.flatMap((parts, i) => {
    const told = parts.filter(isTold).flatMap(piecesOf);
    const pieces = request.echo ? [request.prompts[i] ?? "", ...told] : told;
    return Array.from({ length: plan.choices }, () => pieces);
  });
}

function isTold({ kind }: Part): boolean {
  return kind === "text" || kind === "refusal";
}

function completion(request: CompletionsRequest, plan: Plan, stamp: Stamp): JsonObject {
  const choices = choicesOf(request, plan).map((pieces, index) => ({
    text: pieces.join(""),
    index,
    logprobs: logprobsOf(pieces, 0, request.logprobs),
    finish_reason: finishOf(plan),
  }));
  return { ...headOf(stamp), choices, ...(plan.reportsUsage && { usage: usageOf(plan.usage) }) };
}

function completionSteps(request: CompletionsRequest, plan: Plan, stamp: Stamp): Step[] {
  const head = headOf(stamp);
  const tail = request.includeUsage && plan.reportsUsage ? { usage: null } : {};
  const chunk = (choice: JsonObject): string => JSON.stringify({ ...head, choices: [choice], ...tail });
  const steps: Step[] = [];
  const choices = choicesOf(request, plan);
  const longest = Math.max(...choices.map((pieces) => pieces.length));
  const offsets = choices.map(() => 0);
  for (let at = 0; at < longest; at++) {
    choices.forEach((pieces, index) => {
      const text = pieces[at];
      if (text === undefined) return;
      const logprobs = logprobsOf([text], offsets[index] ?? 0, request.logprobs);
      offsets[index] = (offsets[index] ?? 0) + text.length;
      steps.push({ kind: "delta", data: chunk({ text, index, logprobs, finish_reason: null }) });
    });
  }
  choices.forEach((_, index) => {
    steps.push({ kind: "finish", data: chunk({ text: "", index, logprobs: null, finish_reason: finishOf(plan) }) });
  });
  if (plan.reportsUsage && (request.includeUsage || plan.settings.quirk?.has("usage_always") === true)) {
    const data = JSON.stringify({ ...head, choices: [], usage: usageOf(plan.usage) });
    steps.push({ kind: "usage", data, reportsUsage: true });
  }
  if (plan.endMarker) steps.push(DONE);
  return steps;
}

function headOf({ n, created, model }: Stamp): JsonObject {
  return { id: `cmpl-sim${n}`, object: "text_completion", created, model };
}

/** There are no calls here, so none can be a reason to end. */
function finishOf({ finish }: Plan): string {
  return finish === "tool_calls" ? "stop" : finish;
}

function usageOf({ input, cached, output, reasoning }: Usage): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

function logprobsOf(tokens: readonly string[], offset: number, top: number | null): JsonObject | null {
  if (top === null) return null;
  let at = offset;
  const offsets = tokens.map((token) => {
    const from = at;
    at += token.length;
    return from;
  });
  return {
    tokens,
    token_logprobs: tokens.map(() => -0.125),
    top_logprobs: tokens.map((token) => alternatives(token, top)),
    text_offset: offsets,
  };
}

function alternatives(token: string, top: number): JsonObject {
  return Object.fromEntries(Array.from({ length: top }, (_, i) => [i === 0 ? token : `${token}~${i}`, -0.125 - i]));
}
