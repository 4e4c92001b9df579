import type { Usage } from "@sluicegate/contract";
import type { Alternative, AnswerCase, Step } from "./answer-cases.ts";

type Json = Record<string, unknown>;

const NOTHING: Alternative = { steps: [], finish: "stop" };

/** An answer as the Responses API streams it (WIRE A2.3). */
export function streamResponses(answer: AnswerCase): Buffer {
  const [{ steps } = NOTHING] = answer.alternatives;
  const whole = responseOf(answer);
  const begun = { ...whole, status: "in_progress", incomplete_details: null, output: [], usage: null };
  const events: Json[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...steps.flatMap((step, index) => itemEvents(step, index)),
    { type: `response.${String(whole["status"])}`, response: whole },
  ];
  return Buffer.from(
    events
      .map((event, sequence_number) => ({ ...event, sequence_number }))
      .map((event: Json) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`)
      .join(""),
  );
}

/** The same in one JSON body (WIRE A2.2). */
export function wholeResponses(answer: AnswerCase): Buffer {
  return Buffer.from(JSON.stringify(responseOf(answer)));
}

function responseOf({ alternatives, usage }: AnswerCase): Json {
  const [{ steps, finish } = NOTHING] = alternatives;
  const cut = finish === "length" ? "max_output_tokens" : finish === "content_filter" ? "content_filter" : null;
  return {
    ...{ id: "resp_1", object: "response", created_at: 1_700_000_000, model: "m-1", error: null },
    status: cut === null ? "completed" : "incomplete",
    incomplete_details: cut === null ? null : { reason: cut },
    output: steps.map((step, index) => ({ ...item(step, index), status: "completed" })),
    usage: usage && counted(usage),
  };
}

function item(step: Step, index: number): Json {
  if ("think" in step || "sealed" in step) {
    const sealed = "sealed" in step ? step.sealed : step.proof;
    const text = "think" in step ? step.think.join("") : "";
    return {
      ...{ id: `rs_${index}`, type: "reasoning", summary: text === "" ? [] : [{ type: "summary_text", text }] },
      ...(sealed !== undefined && { encrypted_content: sealed }),
    };
  }
  if ("call" in step) {
    const head = { id: `fc_${index}`, type: "function_call", call_id: step.id, name: step.call };
    return { ...head, arguments: step.args.join("") };
  }
  return { id: `msg_${index}`, type: "message", role: "assistant", content: [part(step)] };
}

function part(step: Step): Json {
  if ("refuse" in step) return { type: "refusal", refusal: step.refuse.join("") };
  const text = "say" in step ? step.say.join("") : "";
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

function itemEvents(step: Step, output_index: number): Json[] {
  const whole = item(step, output_index);
  const item_id = whole["id"];
  const inside = { item_id, output_index };
  const around = (begun: Json, between: Json[]): Json[] => [
    { type: "response.output_item.added", output_index, item: { ...begun, status: "in_progress" } },
    ...between,
    { type: "response.output_item.done", output_index, item: { ...whole, status: "completed" } },
  ];
  if ("sealed" in step) return around({ ...whole, encrypted_content: "" }, []);
  if ("think" in step)
    return around({ ...whole, summary: [], encrypted_content: "" }, thoughtEvents(step.think, inside));
  if ("call" in step) {
    const type = "response.function_call_arguments";
    return around({ ...whole, arguments: "" }, [
      ...step.args.map((delta) => ({ type: `${type}.delta`, ...inside, delta })),
      { type: `${type}.done`, ...inside, arguments: step.args.join("") },
    ]);
  }
  return around({ ...whole, content: [] }, partEvents(step, { ...inside, content_index: 0 }));
}

function thoughtEvents(pieces: readonly string[], inside: Json): Json[] {
  const text = pieces.join("");
  if (text === "") return [];
  const here = { ...inside, summary_index: 0 };
  const type = "response.reasoning_summary";
  return [
    { type: `${type}_part.added`, ...here, part: { type: "summary_text", text: "" } },
    ...pieces.map((delta) => ({ type: `${type}_text.delta`, ...here, delta })),
    { type: `${type}_text.done`, ...here, text },
    { type: `${type}_part.done`, ...here, part: { type: "summary_text", text } },
  ];
}

function partEvents(step: Extract<Step, { say: string[] } | { refuse: string[] }>, here: Json): Json[] {
  const whole = part(step);
  const [type, member, pieces] =
    "refuse" in step ? ["refusal", "refusal", step.refuse] : ["output_text", "text", step.say];
  return [
    { type: "response.content_part.added", ...here, part: { ...whole, [member]: "" } },
    ...pieces.map((delta) => ({ type: `response.${type}.delta`, ...here, delta })),
    { type: `response.${type}.done`, ...here, [member]: pieces.join("") },
    { type: "response.content_part.done", ...here, part: whole },
  ];
}

function counted(usage: Usage): Json {
  return {
    input_tokens: usage.input_tokens,
    input_tokens_details: { cached_tokens: usage.cached_input_tokens, cache_write_tokens: usage.cache_write_tokens },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: usage.input_tokens + usage.output_tokens,
  };
}
