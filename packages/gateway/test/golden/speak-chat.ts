import type { Usage } from "@sluicegate/contract";
import type { Alternative, AnswerCase, Step } from "./answer-cases.ts";

type Json = Record<string, unknown>;

const HEAD = { id: "chatcmpl-1", created: 1_700_000_000, model: "m-1" };

/** An answer as OpenAI's servers stream it, thoughts as servers of open models do (WIRE A1.4, F1). */
export function streamChat(answer: AnswerCase): Buffer {
  const chunks: Json[] = answer.alternatives.flatMap(({ steps, finish }, index) => {
    const said = answer.interleaved ? interleave(steps) : deltas(steps);
    return [
      chunk(index, { role: "assistant", content: "", refusal: null }),
      ...said.map((delta) => chunk(index, delta)),
      chunk(index, {}, finish),
    ];
  });
  if (answer.usage)
    chunks.push({ ...HEAD, object: "chat.completion.chunk", choices: [], usage: counted(answer.usage) });
  return Buffer.from(
    [...chunks.map((each) => JSON.stringify(each)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
  );
}

/** The same in one JSON body (WIRE A1.3). */
export function wholeChat({ alternatives, usage }: AnswerCase): Buffer {
  const choices = alternatives.map(({ steps, finish }, index) => ({
    index,
    message: message(steps),
    logprobs: null,
    finish_reason: finish,
  }));
  const body = { ...HEAD, object: "chat.completion", choices, ...(usage && { usage: counted(usage) }) };
  return Buffer.from(JSON.stringify(body));
}

function chunk(index: number, delta: Json, finish: Alternative["finish"] | null = null): Json {
  const choice = { index, delta, logprobs: null, finish_reason: finish };
  return { ...HEAD, object: "chat.completion.chunk", choices: [choice], usage: null };
}

function deltas(steps: readonly Step[]): Json[] {
  let calls = 0;
  return steps.flatMap((step): Json[] => {
    if ("think" in step) return step.think.map((text) => ({ reasoning_content: text }));
    if ("say" in step) return step.say.map((content) => ({ content }));
    if ("refuse" in step) return step.refuse.map((refusal) => ({ refusal }));
    return "call" in step ? callDeltas(step, calls++) : [];
  });
}

function callDeltas({ call, id, args }: Extract<Step, { call: string }>, index: number): Json[] {
  const head = { index, id, type: "function", function: { name: call, arguments: "" } };
  return [head, ...args.map((text) => ({ index, function: { arguments: text } }))].map((one) => ({
    tool_calls: [one],
  }));
}

/** All calls begin, then their pieces come in turns. */
function interleave(steps: readonly Step[]): Json[] {
  const rows = steps.flatMap((step, index) => ("call" in step ? [callDeltas(step, index)] : []));
  const most = Math.max(...rows.map((row) => row.length));
  return Array.from({ length: most }, (_, turn) => rows.flatMap((row) => row[turn] ?? [])).flat();
}

function message(steps: readonly Step[]): Json {
  const join = (pick: (step: Step) => string[]): string | null => {
    const found = steps.map(pick);
    return found.some((pieces) => pieces.length > 0) ? found.flat().join("") : null;
  };
  const thoughts = join((step) => ("think" in step ? step.think : []));
  const calls = steps.flatMap((step) =>
    "call" in step
      ? [{ id: step.id, type: "function", function: { name: step.call, arguments: step.args.join("") } }]
      : [],
  );
  return {
    role: "assistant",
    content: join((step) => ("say" in step ? step.say : [])),
    refusal: join((step) => ("refuse" in step ? step.refuse : [])),
    ...(thoughts !== null && { reasoning_content: thoughts }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function counted(usage: Usage): Json {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_input_tokens, cache_write_tokens: usage.cache_write_tokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
  };
}
