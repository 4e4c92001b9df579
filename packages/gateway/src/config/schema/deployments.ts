import { z } from "zod";
import { CAPABILITIES } from "../../core/call.ts";
import { deploymentLimitsSchema } from "./capacity.ts";
import { count, date, duration, optionalDuration, share, text, usdPerMillion } from "./fields.ts";

const tierSchema = z
  .strictObject({
    above: count("The tier holds when a call has more input tokens than this.", 1, 1_000_000_000),
    input: usdPerMillion("USD per million input tokens. Default: the price's own.").optional(),
    cached_input: usdPerMillion("USD per million cached input tokens. Default: the tier's input.").optional(),
    cache_write: usdPerMillion("USD per million tokens written to the cache. Default: the tier's input.").optional(),
    cache_write_1h: usdPerMillion("USD per million tokens written for an hour. Default: cache_write.").optional(),
    output: usdPerMillion("USD per million output tokens. Default: the price's own.").optional(),
  })
  .describe("Other prices for long inputs.");

/** One price, USD per million tokens. */
const priceSchema = z
  .strictObject({
    input: usdPerMillion("USD per million input tokens."),
    cached_input: usdPerMillion("USD per million cached input tokens. Default: input.").optional(),
    cache_write: usdPerMillion("USD per million tokens written to the cache. Default: input.").optional(),
    cache_write_1h: usdPerMillion("USD per million tokens written for an hour. Default: cache_write.").optional(),
    output: usdPerMillion("USD per million output tokens, reasoning included; 0 for embeddings."),
    tiers: z.array(tierSchema).describe("Prices that hold above a number of input tokens.").optional(),
    from: date("Day from which the price holds. Default: always."),
  })
  .describe("Prices in USD per million tokens.");

/** The chat APIs of providers, by what speaks them. */
const API_NAMES = ["chat", "responses", "messages", "generate"] as const;

/** `timeouts:` of a deployment. */
export const deploymentTimeoutsSchema = z
  .strictObject({
    connect: duration("How long a new connection may take.", "5s"),
    first_token: optionalDuration(
      "How long a stream may stay without output. Default: 10s, 60s where the request reasons.",
    ),
    idle: duration("How long a stream may pause between two chunks.", "30s"),
  })
  .describe("Timeouts of one call.");

/** `breaker:` of a deployment. */
export const breakerSchema = z
  .strictObject({
    consecutive: count("Failures in a row that open it.", 1, 1_000).prefault(5),
    error_rate: share("Share of failures in the window that opens it.").prefault(0.5),
    min_requests: count("Requests in the window before that share counts.", 1, 100_000).prefault(5),
    window: duration("Time over which requests are counted.", "60s"),
    latency_factor: z
      .number({ error: "is not a number" })
      .gt(1, { error: "must be more than 1" })
      .max(1_000, { error: "must be at most 1000" })
      .describe("Opens it when the p95 stays over so many times what is usual for the deployment.")
      .prefault(3),
    recovery: duration("How long it stays open before a probe may go.", "30s"),
    probes: count("Probes in a row, one at a time, that must go well before it closes.", 1, 100).prefault(1),
  })
  .describe("When the deployment is taken for broken, and for well again.");

/** One of `deployments:` a model on a provider, in a region, on one kind of capacity. */
export const deploymentSchema = z
  .strictObject({
    provider: text().describe("Name of its provider."),
    model: text().describe("The model's name at the provider; a dated one keeps answers the same."),
    azure_deployment: text()
      .describe("azure-openai: name of the deployment in the resource. Default: the model's name.")
      .optional(),
    region: text().describe("Where it runs, for example uae-north.").optional(),
    capacity: z
      .enum(["payg", "provisioned", "self_hosted"])
      .describe("How it is paid. Default: payg, or self_hosted for presets of servers you run.")
      .optional(),
    api: z
      .enum(API_NAMES)
      .describe(
        "Which API of the provider is called. Default: the client's own where the provider has it, else the first.",
      )
      .optional(),
    expected_latency: optionalDuration(
      "What a call takes (the first token of a stream) as long as nothing is known of it. Default: not said.",
    ),
    max_classification: text()
      .describe("Highest of `classifications` that it may hold. Default: the first, the least sensitive.")
      .optional(),
    tenants: z
      .array(text().describe("Name of a tenant."))
      .min(1, { error: "is empty, so nobody would be served" })
      .describe("Dedicated capacity: nobody else is served. Default: everybody is.")
      .optional(),
    limits: deploymentLimitsSchema.optional(),
    breaker: breakerSchema.prefault({}),
    context_window: count(
      "Tokens of input and output together. Default: the catalogue's; unknown: requests of any length are let through.",
      1,
      1_000_000_000,
    ).optional(),
    capabilities: z
      .array(z.enum(CAPABILITIES).describe("Something that a request may need."))
      .describe(
        "What it can do: requests that need anything else go elsewhere. Default: the catalogue's; unknown: all are let through.",
      )
      .optional(),
    retires: date("Day from which it no longer answers. Default: the catalogue's."),
    max_output: count(
      "The most tokens the model can write in one answer. Default: the catalogue's.",
      1,
      100_000_000,
    ).optional(),
    timeouts: deploymentTimeoutsSchema.prefault({}),
    price: z
      .union([priceSchema, z.array(priceSchema).min(1, { error: "has no prices" })])
      .describe("What it costs: one price, or a list with `from` dates. Default: the price book.")
      .optional(),
  })
  .describe("One model on one provider: what routes lead to.");

/** One deployment as read. */
export type DeploymentInput = z.output<typeof deploymentSchema>;

/** One price as read. */
export type PriceInput = z.output<typeof priceSchema>;
