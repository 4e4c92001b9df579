import { z } from "zod";
import { LIMITS } from "../../core/limits.ts";
import { canarySchema, complexitySchema } from "./experiments.ts";
import { count, duration, durationOrOff, flag, optionalDuration, share, text } from "./fields.ts";
import { hedgeSchema, queueSchema, routeHealthSchema, slowStreamSchema } from "./route-options.ts";

const chainEntrySchema = z
  .union([
    text()
      .transform((deployment): { deployment: string; weight?: number | undefined } => ({ deployment }))
      .meta({ description: "Name of a deployment, or provider/model." }),
    z.strictObject({
      deployment: text().describe("Name of a deployment, or provider/model."),
      weight: z
        .number({ error: "is not a number" })
        .min(0, { error: "must not be negative" })
        .max(1_000_000, { error: "must be at most 1000000" })
        .describe("Its part of the traffic, beside the weights of the others. Only with `strategy: weighted`.")
        .optional(),
    }),
  ])
  .describe("A deployment of the chain.");

const routeTimeoutsSchema = z
  .strictObject({
    hop: optionalDuration(
      "Longest wait for the first output of one attempt. Default: 15s for streams; by length for JSON.",
    ),
    total: optionalDuration(
      "Longest wait for the first output of the whole chain. Default: 60s for streams; by length for JSON.",
    ),
    stream_max: duration("Longest duration of a whole stream.", "10m"),
  })
  .describe("Timeouts of a request.");

const retriesSchema = z
  .strictObject({
    attempts: count("Calls to one deployment, the first included.", 1, LIMITS.attemptsMax).prefault(2),
    base: duration("First back-off, jittered; doubles with each attempt.", "500ms"),
    cap: duration("Longest back-off.", "8s"),
    budget: share("Retries as a share of recent requests, so that retries cannot storm.", true).prefault(0.2),
  })
  .describe("When a failed call may be made again.");

/** One of `routes:` an alias and the deployments behind it. */
export const routeSchema = z
  .strictObject({
    chain: z
      .array(chainEntrySchema)
      .min(1, { error: "is empty; name at least one deployment" })
      .max(LIMITS.chainMax, { error: `is longer than ${LIMITS.chainMax} deployments` })
      .describe("Deployments in the order in which they are tried."),
    strategy: z
      .enum(["ordered", "weighted", "cheapest", "fastest", "least_busy", "health"])
      .describe("How the deployments of the chain that may serve a request are ordered.")
      .prefault("ordered"),
    latency_slo: optionalDuration(
      "For `cheapest`: the cheapest of those whose median is under this. Default: the cheapest of all.",
    ),
    health: routeHealthSchema.prefault({}),
    tenant_overrides: z
      .record(
        text(),
        z
          .array(text().describe("Name of a deployment, or provider/model."))
          .min(1, { error: "is empty; name at least one deployment" })
          .max(LIMITS.chainMax, { error: `is longer than ${LIMITS.chainMax} deployments` })
          .describe("The tenant's own chain: nothing outside it serves it, whatever rules say."),
      )
      .describe("Whole chains, by tenant.")
      .prefault({}),
    canary: canarySchema.optional(),
    complexity: complexitySchema.optional(),
    fallback: flag("Whether a failed request may go to the next of the chain.", true),
    timeouts: routeTimeoutsSchema.prefault({}),
    retries: retriesSchema.prefault({}),
    slow_stream: slowStreamSchema.optional(),
    hedge: hedgeSchema.optional(),
    when_all_open: z
      .enum(["refuse", "least_bad"])
      .describe("Every circuit is open: refuse, or try the least bad deployment.")
      .prefault("refuse"),
    when_all_cooling: z
      .enum(["wait", "refuse"])
      .describe("Every deployment cools down: wait for the soonest if that fits the deadline, or refuse.")
      .prefault("wait"),
    context_fallback: flag("A request that overflows a deployment's window may go to one with a larger window.", false),
    affinity: z
      .enum(["none", "session", "user"])
      .describe("What stays at one deployment while that is healthy, so that its prompt cache hits.")
      .prefault("none"),
    queue: queueSchema.prefault({}),
    drop_unsupported: flag(
      "Drop what a deployment cannot express, and say so in x-sluicegate-dropped, instead of going elsewhere.",
      false,
    ),
    pin: z
      .enum(["snapshot", "latest"])
      .describe("`latest`: its floating model names are meant, and neither warned of nor refused.")
      .prefault("snapshot"),
    keepalive: durationOrOff("Silence after which a stream commits with a ping, repeated; or `off`.", "15s"),
  })
  .describe("What callers ask for, and the deployments that answer.");

/** One route as read. */
export type RouteInput = z.output<typeof routeSchema>;
