import type { Usage } from "@sluicegate/contract";
import type { AnswerCase, Step } from "./answer-cases.ts";

type Json = Record<string, unknown>;

const REASONS = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY" } as const;

/** An answer as Google streams it: response objects with new parts, calls whole, the count in each (WIRE B4, F3). */
export function streamGemini({ alternatives, usage }: AnswerCase): Buffer {
  const responses = alternatives.flatMap(({ steps, finish }, index) => [
    ...steps
      .flatMap(streamedParts)
      .map((part) => response([{ index, content: { role: "model", parts: [part] } }], usage)),
    response([{ index, content: { role: "model", parts: [{ text: "" }] }, finishReason: REASONS[finish] }], usage),
  ]);
  return Buffer.from(responses.map((each) => `data: ${JSON.stringify(each)}\r\n\r\n`).join(""));
}

/** The same in one JSON body. */
export function wholeGemini({ alternatives, usage }: AnswerCase): Buffer {
  const candidates = alternatives.map(({ steps, finish }, index) => ({
    index,
    content: { role: "model", parts: steps.map(wholePart) },
    finishReason: REASONS[finish],
  }));
  return Buffer.from(JSON.stringify(response(candidates, usage)));
}

function response(candidates: Json[], usage: Usage | null): Json {
  return { candidates, ...(usage && { usageMetadata: counted(usage) }), modelVersion: "m-1", responseId: "r1" };
}

function streamedParts(step: Step): Json[] {
  if ("say" in step) return step.say.map((text) => ({ text }));
  if (!("think" in step)) return [wholePart(step)];
  const signed = step.proof === undefined ? {} : { thoughtSignature: step.proof };
  const last = step.think.length - 1;
  return step.think.map((text, index) => ({ text, thought: true, ...(index === last && signed) }));
}

function wholePart(step: Step): Json {
  if ("say" in step) return { text: step.say.join("") };
  if ("think" in step) {
    const signed = step.proof === undefined ? {} : { thoughtSignature: step.proof };
    return { text: step.think.join(""), thought: true, ...signed };
  }
  if (!("call" in step)) throw new Error("Gemini neither seals thoughts nor refuses in parts");
  const args = JSON.parse(step.args.join("") || "{}") as Json;
  return {
    functionCall: { name: step.call, ...(Object.keys(args).length > 0 && { args }) },
    ...(step.proof !== undefined && { thoughtSignature: step.proof }),
  };
}

/** Thoughts stand beside the candidates' tokens. */
function counted(usage: Usage): Json {
  return {
    promptTokenCount: usage.input_tokens,
    cachedContentTokenCount: usage.cached_input_tokens,
    candidatesTokenCount: usage.output_tokens - usage.reasoning_tokens,
    thoughtsTokenCount: usage.reasoning_tokens,
    totalTokenCount: usage.input_tokens + usage.output_tokens,
  };
}
