import { z } from "zod";
import { BOUNDS } from "../bounds.ts";
import { parseDuration } from "../units.ts";
import { count, duration, flag, share, text } from "./fields.ts";

/** `health:` of a route. */
export const routeHealthSchema = z
  .strictObject({
    error_ceiling: share("Share of failures over which a deployment goes behind the others.", true).prefault(0.1),
    window: duration("Time over which failures are counted.", "60s"),
  })
  .describe("What makes a deployment less liked. Only breakers and cooldowns stop traffic.");

/** `slow_stream:` of a route. */
export const slowStreamSchema = z
  .strictObject({
    tokens_per_second: z
      .number({ error: "is not a number" })
      .gt(0, { error: "must be more than 0" })
      .max(100_000, { error: "must be at most 100000" })
      .describe("A stream slower than this over the window counts against its deployment."),
    window: duration("Time over which a stream is measured.", "10s"),
    abort: flag("End such a stream with an error event.", false),
  })
  .describe("When a stream is too slow. Absent: never.");

const afterSchema = text("is not a duration or `p95`")
  .transform((written, context) => {
    if (written === "p95") return "p95" as const;
    const ms = parseDuration(written);
    if (ms !== null && ms <= BOUNDS.hedgeAfterMsMax) return ms;
    const message = ms === null ? "is not a duration or `p95`, as in `300ms`" : "is longer than 10m";
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  })
  .meta({
    description: "When the second call is made: at once (0ms), after a while, or after the first deployment's p95.",
    pattern: "^(p95|\\d+(\\.\\d+)?(ms|s|m|h|d)|(env|file|vault|aws-sm|gcp-sm):.+|.*\\$\\{.+)$",
  });

/** `hedge:` of a route. */
export const hedgeSchema = z
  .strictObject({
    after: afterSchema.prefault("p95"),
    max_extra: share("Second calls as a share of recent requests.").prefault(0.1),
  })
  .describe("A second call to the next of the chain when the first takes long; the first success wins. Absent: none.");

/** `queue:` of a route. */
export const queueSchema = z
  .strictObject({
    max_wait: duration("Longest wait for a place.", "5s"),
    max_depth: count("Requests waiting at once for one deployment.", 1, BOUNDS.queueDepthMax).prefault(200),
    on: z
      .array(z.enum(["concurrency", "rate"]).describe("What is waited for."))
      .describe("What is waited for: places (`concurrency`), and requests or tokens a minute (`rate`). `[]`: nothing.")
      .prefault(["concurrency"]),
  })
  .describe("Waiting at a deployment whose limits are reached, before the next of the chain is taken.");
