import type { Usage } from "@sluicegate/contract";
import type { FinishReason } from "../../core/stream-part.ts";
import { type Fields, isObject } from "../field-checks.ts";
import type { Shown } from "../translation.ts";
import { ownId } from "./ids.ts";
import { writeUsage } from "./usage.ts";

/** How far an answer is. */
export interface Progress {
  model: string | null;
  output: readonly unknown[];
  /** Null while it runs. */
  finish: FinishReason | null;
  usage: Usage | null;
}

/** Why an answer is incomplete, in the API's words; null for one that is whole, or failed. */
export function incompleteReason(finish: FinishReason | null): "max_output_tokens" | "content_filter" | null {
  if (finish === "length") return "max_output_tokens";
  return finish === "content_filter" ? "content_filter" : null;
}

/** The status of a response with that finish reason. */
export function statusOf(finish: FinishReason | null): "in_progress" | "completed" | "incomplete" | "failed" {
  if (finish === null) return "in_progress";
  if (finish === "error") return "failed";
  return incompleteReason(finish) === null ? "completed" : "incomplete";
}

/** The response object (WIRE A2.2): what the client asked for is echoed as the vendor does, defaults filled in. Nothing is stored. */
export function responseObject({ call, requestId, createdS, model }: Shown, progress: Progress): Fields {
  const { body } = call;
  const { finish, usage } = progress;
  const status = statusOf(finish);
  const reason = incompleteReason(finish);
  const reasoning = isObject(body["reasoning"]) ? body["reasoning"] : {};
  const text = isObject(body["text"]) ? body["text"] : {};
  const given = (key: string, otherwise: unknown = null): unknown => body[key] ?? otherwise;
  return {
    id: ownId("resp", requestId),
    object: "response",
    created_at: createdS,
    status,
    background: false,
    completed_at: status === "completed" ? createdS : null,
    error:
      status === "failed"
        ? { code: "server_error", message: "the provider's model could not finish its answer" }
        : null,
    frequency_penalty: given("frequency_penalty", 0),
    incomplete_details: reason === null ? null : { reason },
    instructions: given("instructions"),
    max_output_tokens: given("max_output_tokens"),
    max_tool_calls: given("max_tool_calls"),
    model: progress.model ?? model,
    output: progress.output,
    parallel_tool_calls: given("parallel_tool_calls", true),
    presence_penalty: given("presence_penalty", 0),
    previous_response_id: null,
    prompt_cache_key: given("prompt_cache_key"),
    reasoning: { effort: reasoning["effort"] ?? null, summary: reasoning["summary"] ?? null },
    safety_identifier: given("safety_identifier"),
    service_tier: "default",
    store: false,
    temperature: given("temperature", 1),
    text: { format: text["format"] ?? { type: "text" }, verbosity: text["verbosity"] ?? "medium" },
    tool_choice: given("tool_choice", "auto"),
    tools: given("tools", []),
    top_logprobs: given("top_logprobs", 0),
    top_p: given("top_p", 1),
    truncation: "disabled",
    usage: usage && finish !== null ? writeUsage(usage) : null,
    user: given("user"),
    metadata: given("metadata", {}),
  };
}
