import type { FeedbackReport, FeedbackRow, Page } from "@sluicegate/contract";
import { FEEDBACK_DIMENSIONS } from "@sluicegate/contract";
import { z } from "zod";
import type { DeploymentState } from "./deployment-seat.ts";

const count = z.int().min(0);
const ms = z.number().min(0).nullable();
const name = z.string().nullable();
const time = z.iso.datetime().nullable();

/** One deployment with its health. */
export const deploymentShape: z.ZodType<DeploymentState> = z
  .object({
    name: z.string(),
    provider: z.string(),
    model: z.string(),
    region: name,
    capacity: z.enum(["payg", "provisioned", "self_hosted"]),
    circuit: z.enum(["closed", "open", "half_open"]),
    opened_at: time,
    opened_by: name.describe("What opened it: consecutive, error_rate, latency, probe; or who, where it was by hand."),
    cooldown_until: time,
    cooldown_for: name.describe("The error class that cools it."),
    error_rate: z.number().min(0).max(1).nullable(),
    window: z.object({ requests: count, failures: count }),
    p50_ms: ms,
    p95_ms: ms,
    ttft_p50_ms: ms,
    in_flight: count,
    remaining: z
      .object({ rpm: count.nullable(), tpm: count.nullable() })
      .describe("Of its ceilings, at least. Null: there is none."),
    hand: z
      .object({ set: z.enum(["open", "closed"]), until: time, reason: name, by: z.string() })
      .nullable()
      .describe("How it is set by hand."),
  })
  .meta({ id: "Deployment", description: "One deployment and how it is." });

/** All of them. */
export const deploymentsShape = z.object({ data: z.array(deploymentShape) }).meta({ id: "Deployments" });

const score: z.ZodType<FeedbackRow> = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    tenant: z.string(),
    key_id: name,
    request_id: name,
    session_id: name,
    name: z.string(),
    value: z.union([z.number(), z.boolean()]),
    comment: name,
  })
  .meta({ id: "Score", description: "A score of a request or of a session." });

const scorePage: z.ZodType<Page<FeedbackRow>> = z
  .object({ data: z.array(score), next_cursor: z.string().exactOptional() })
  .meta({ id: "ScorePage", description: "Scores, newest first: without `by`." });

const figures = { name: z.string(), count, mean: z.number(), min: z.number(), max: z.number() };

const feedbackReport: z.ZodType<FeedbackReport> = z
  .object({
    from: z.iso.datetime(),
    to: z.iso.datetime().describe("Exclusive."),
    by: z.array(z.enum(FEEDBACK_DIMENSIONS)),
    data: z.array(z.object(figures).catchall(z.union([z.string(), z.number(), z.null()]))),
  })
  .meta({ id: "Feedback", description: "Scores by what served: with `by`. Truths count as 1 and 0." });

/** GET /admin/feedback. */
export const feedbackShape = z.union([scorePage, feedbackReport]);
