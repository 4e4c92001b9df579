import { isObject, type JsonObject } from "../json.ts";
import type { Plan, Usage } from "../models/plan.ts";
import type { Problem } from "../models/problem.ts";
import { openAiErrorParts } from "../openai-error.ts";
import type { Stamp } from "../wire.ts";
import { responseId } from "./output.ts";
import type { ResponsesRequest } from "./request.ts";

/** How far a response is, with what it says about that. */
export interface Standing {
  readonly status: "queued" | "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly JsonObject[];
  readonly error?: JsonObject;
  readonly reason?: string;
  readonly usage: Usage | null;
}

/** The whole response object. */
export function responseObject(request: ResponsesRequest, stamp: Stamp, standing: Standing): JsonObject {
  const { body } = request;
  const { status, output, error, reason, usage } = standing;
  return {
    id: responseId(request, stamp),
    object: "response",
    created_at: stamp.created,
    status,
    background: request.background,
    completed_at: status === "completed" ? stamp.created : null,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: stamp.model,
    output,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...(isObject(body.reasoning) && body.reasoning) },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: body.service_tier == null || body.service_tier === "auto" ? "default" : body.service_tier,
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: { type: "text" }, verbosity: "medium", ...(isObject(body.text) && body.text) },
    tool_choice: body.tool_choice ?? "auto",
    tools: toolsOf(body.tools),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? "disabled",
    usage: usage === null ? null : responsesUsage(usage),
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  };
}

/** How a plan ends: completed, incomplete with a reason, or failed. */
export function endOf(plan: Plan, output: readonly JsonObject[]): Standing {
  const usage = plan.reportsUsage ? plan.usage : null;
  if (plan.finish === "failed") {
    return { status: "failed", output, error: { code: "server_error", message: "simulated failure" }, usage };
  }
  if (plan.finish === "stop" || plan.finish === "tool_calls") return { status: "completed", output, usage };
  return { status: "incomplete", output, reason: plan.finish === "length" ? "max_output_tokens" : plan.finish, usage };
}

/** How a response stands that failed with `problem`. */
export function failureOf(problem: Problem): Standing {
  const { code, type, message } = openAiErrorParts(problem);
  return { status: "failed", output: [], error: { code: code ?? type, message }, usage: null };
}

/** The `usage` object of responses. Input includes cached, output includes reasoning. */
export function responsesUsage({ input, cached, cacheWrite, output, reasoning }: Usage): JsonObject {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, ...(cacheWrite > 0 && { cache_write_tokens: cacheWrite }) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

/** Functions come back strict unless they were asked not to be. */
function toolsOf(tools: unknown): unknown {
  if (!Array.isArray(tools)) return [];
  return tools.map((tool: unknown) =>
    isObject(tool) && tool.type === "function" ? { ...tool, strict: tool.strict ?? true } : tool,
  );
}
