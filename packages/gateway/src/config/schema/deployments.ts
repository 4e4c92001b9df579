import { z } from "zod";
import { CAPABILITIES } from "../../core/call.ts";
import { count, date, duration, optionalDuration, text, usdPerMillion } from "./fields.ts";

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
