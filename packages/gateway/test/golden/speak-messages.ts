import type { Usage } from "@sluicegate/contract";
import type { Alternative, AnswerCase, Step } from "./answer-cases.ts";

type Json = Record<string, unknown>;

const REASONS = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" } as const;

/** An answer as Anthropic streams it (WIRE A3.3, F2). */
export function streamMessages({ alternatives, usage }: AnswerCase): Buffer {
  const [{ steps, finish, stopSequence } = NOTHING] = alternatives;
  const events: Json[] = [
    { type: "message_start", message: message([], null, null, { ...counted(usage), output_tokens: 1 }) },
    { type: "ping" },
    ...steps.flatMap((step, index) => blockEvents(step, index)),
    {
      type: "message_delta",
      delta: { stop_reason: reason(finish, stopSequence), stop_sequence: stopSequence ?? null },
      usage: {
        output_tokens: usage?.output_tokens ?? 0,
        output_tokens_details: counted(usage)["output_tokens_details"],
      },
    },
    { type: "message_stop" },
  ];
  return Buffer.from(
    events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  );
}

/** The same in one JSON body (WIRE A3.2). */
export function wholeMessages({ alternatives, usage }: AnswerCase): Buffer {
  const [{ steps, finish, stopSequence } = NOTHING] = alternatives;
  const body = message(steps.map(wholeBlock), reason(finish, stopSequence), stopSequence ?? null, counted(usage));
  return Buffer.from(JSON.stringify(body));
}

const NOTHING: Alternative = { steps: [], finish: "stop" };

function message(content: Json[], stop_reason: string | null, stop_sequence: string | null, usage: Json): Json {
  const head = { id: "msg_1", type: "message", role: "assistant", model: "m-1" };
  return { ...head, content, stop_reason, stop_sequence, usage };
}

function reason(finish: Alternative["finish"], stopSequence: string | undefined): string {
  return stopSequence === undefined ? REASONS[finish] : "stop_sequence";
}

function blockEvents(step: Step, index: number): Json[] {
  const delta = (type: string, member: string, text: string): Json => ({
    type: "content_block_delta",
    index,
    delta: { type, [member]: text },
  });
  const block = (content_block: Json, deltas: Json[]): Json[] => [
    { type: "content_block_start", index, content_block },
    ...deltas,
    { type: "content_block_stop", index },
  ];
  if ("think" in step) {
    const signed = step.proof === undefined ? [] : [delta("signature_delta", "signature", step.proof)];
    const thoughts = step.think.map((text) => delta("thinking_delta", "thinking", text));
    return block({ type: "thinking", thinking: "", signature: "" }, [...thoughts, ...signed]);
  }
  if ("sealed" in step) return block({ type: "redacted_thinking", data: step.sealed }, []);
  if ("say" in step)
    return block(
      { type: "text", text: "" },
      step.say.map((text) => delta("text_delta", "text", text)),
    );
  if ("refuse" in step) throw new Error("Anthropic has no refusal blocks");
  const pieces = step.args.join("") === "{}" ? [""] : step.args;
  return block(
    { type: "tool_use", id: step.id, name: step.call, input: {} },
    ["", ...pieces].map((text) => delta("input_json_delta", "partial_json", text)),
  );
}

function wholeBlock(step: Step): Json {
  if ("think" in step) return { type: "thinking", thinking: step.think.join(""), signature: step.proof ?? "" };
  if ("sealed" in step) return { type: "redacted_thinking", data: step.sealed };
  if ("say" in step) return { type: "text", text: step.say.join("") };
  if ("refuse" in step) throw new Error("Anthropic has no refusal blocks");
  return { type: "tool_use", id: step.id, name: step.call, input: JSON.parse(step.args.join("") || "{}") as Json };
}

/** `input_tokens` is what neither came from the cache nor went into it. */
function counted(usage: Usage | null): Json {
  if (!usage) return { input_tokens: 0, output_tokens: 0 };
  const { cached_input_tokens: read, cache_write_tokens: written, cache_write_1h_tokens: hour } = usage;
  return {
    input_tokens: usage.input_tokens - read - written,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    cache_creation: { ephemeral_5m_input_tokens: written - hour, ephemeral_1h_input_tokens: hour },
    output_tokens: usage.output_tokens,
    output_tokens_details: { thinking_tokens: usage.reasoning_tokens },
  };
}
