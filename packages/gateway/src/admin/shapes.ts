import { ERROR_CLASSES, ERROR_CODES, type Page, type RequestRecord } from "@sluicegate/contract";
import { z } from "zod";

const count = z.int().min(0);
const name = z.string().nullable();
const ms = z.number().min(0).nullable();
const microUsd = z.int().describe("Millionths of a US dollar.");
const costState = z.enum(["known", "estimated", "unknown"]);

const usage = z
  .object({
    input_tokens: count.describe("Cached and written tokens included."),
    cached_input_tokens: count,
    cache_write_tokens: count.describe("The one-hour part included."),
    cache_write_1h_tokens: count,
    output_tokens: count.describe("Reasoning included."),
    reasoning_tokens: count,
  })
  .meta({ id: "Usage", description: "Tokens, normalised over providers." });

const attempt = z
  .object({
    n: z.int().min(1),
    deployment: z.string(),
    provider: z.string(),
    model: z.string().describe("The model name sent upstream."),
    status: z.enum(["ok", "failed", "cancelled"]),
    error_class: z.enum(ERROR_CLASSES).nullable(),
    http_status: z.int().nullable(),
    usage,
    cost_micro_usd: microUsd,
    cost_state: costState,
    latency_ms: z.number().min(0),
    ttft_ms: ms,
    hedge: z.boolean(),
    retry: z.boolean().describe("True when the attempt before it went to the same deployment."),
    credential: z.object({ name: z.string(), generation: z.int(), owner: z.enum(["shared", "tenant"]) }).nullable(),
    provider_request_id: name,
  })
  .meta({ id: "Attempt", description: "One call to one deployment." });

/** One request with its attempts. */
export const requestShape: z.ZodType<RequestRecord> = z
  .object({
    request_id: z.string(),
    client_request_id: name,
    parent_request_id: name,
    purpose: z.enum(["client", "probe", "classifier", "embedding", "judge", "repair"]),
    started_at: z.iso.datetime(),
    tenant: z.string(),
    team: name,
    application: name,
    agent: name,
    user: name,
    session: name,
    key_id: name,
    alias: name.describe("The alias the client asked for."),
    route: name.describe("The alias that served."),
    rule: name,
    variant: name,
    dialect: z.string(),
    stream: z.boolean(),
    status: z.enum(["running", "ok", "failed", "refused", "cancelled", "abandoned"]),
    error_code: z.enum(ERROR_CODES).nullable(),
    finish_reason: name,
    deployment: name,
    provider: name,
    model: name,
    response_model: name,
    region: name,
    template_version: name,
    task_class: name,
    classification: name,
    usage,
    cost_micro_usd: microUsd.describe("The sum of the attempts' costs, in millionths of a US dollar."),
    cost_state: costState,
    saved_micro_usd: microUsd,
    cache: z.enum(["hit", "semantic", "shared", "miss", "bypass"]).nullable(),
    latency_ms: ms,
    ttft_ms: ms,
    overhead_ms: ms,
    fallback_depth: count,
    hedged: z.boolean(),
    trace_id: name,
    tags: z.record(z.string(), z.string()),
    facts: z.record(z.string(), z.unknown()).nullable().describe("Exactly what the routing function was given."),
    repeated: count.describe("How many like refusals this one row stands for."),
    attempts: z.array(attempt),
  })
  .meta({ id: "Request", description: "One request with its attempts." });

/** A page of requests, newest first. */
export const requestPageShape: z.ZodType<Page<RequestRecord>> = z
  .object({
    data: z.array(requestShape),
    next_cursor: z
      .string()
      .describe("Give it back as `cursor` for the next page. Absent on the last one.")
      .exactOptional(),
  })
  .meta({ id: "RequestPage" });

const figures = {
  requests: count,
  attempts: count,
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  cost_micro_usd: microUsd,
  cost_usd: z.string().describe("The same as a decimal."),
  saved_micro_usd: microUsd,
  unknown_cost_requests: count.describe("Requests whose cost is not known, and which count as 0."),
  active_users: count,
  cost_per_active_user_micro_usd: microUsd.nullable(),
};

/** A spend report. A row has one member more for each dimension asked for. */
export const spendShape = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime().describe("Exclusive."),
    by: z.array(z.string()),
    data: z.array(z.object(figures).catchall(z.union([z.string(), z.number(), z.null()]))),
    total: z.object(figures),
  })
  .meta({ id: "Spend", description: "Figures grouped by the dimensions asked for, by cost, highest first." });

/** An error answer. */
export const errorShape = z
  .object({
    error: z.looseObject({
      message: z.string(),
      type: z.string(),
      param: name,
      code: z.string(),
      request_id: z.string(),
    }),
  })
  .meta({ id: "Error" });
