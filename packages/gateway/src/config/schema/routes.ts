import { z } from "zod";
import { LIMITS } from "../../core/limits.ts";
import { count, duration, durationOrOff, optionalDuration, text } from "./fields.ts";

const chainEntrySchema = z
  .union([
    text().describe("Name of a deployment, or provider/model."),
    z
      .strictObject({ deployment: text().describe("Name of a deployment, or provider/model.") })
      .transform((entry) => entry.deployment),
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
    budget: z
      .number({ error: "is not a number" })
      .min(0, { error: "must be between 0 and 1" })
      .max(1, { error: "must be between 0 and 1" })
      .describe("Retries as a share of recent requests, so that retries cannot storm.")
      .prefault(0.2),
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
    fallback: z
      .boolean({ error: "is not true or false" })
      .describe("Whether a failed request may go to the next of the chain.")
      .prefault(true),
    timeouts: routeTimeoutsSchema.prefault({}),
    retries: retriesSchema.prefault({}),
    drop_unsupported: z
      .boolean({ error: "is not true or false" })
      .describe(
        "Drop what a deployment cannot express, and say so in x-sluicegate-dropped, instead of going elsewhere.",
      )
      .prefault(false),
    pin: z
      .enum(["snapshot", "latest"])
      .describe("`latest`: its floating model names are meant, and neither warned of nor refused.")
      .prefault("snapshot"),
    keepalive: durationOrOff("Silence after which a stream commits with a ping, repeated; or `off`.", "15s"),
  })
  .describe("What callers ask for, and the deployments that answer.");

/** One route as read. */
export type RouteInput = z.output<typeof routeSchema>;
