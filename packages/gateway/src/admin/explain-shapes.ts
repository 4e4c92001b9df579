import { ERROR_CODES } from "@sluicegate/contract";
import { z } from "zod";
import type { Explanation } from "./explanation.ts";
import { requestShape } from "./shapes.ts";
import type { WhatIfReport } from "./what-if-report.ts";

const count = z.int().min(0);
const name = z.string().nullable();
const microUsd = z.int().describe("Millionths of a US dollar.");
const ms = z.number().min(0).nullable();
const code = z.enum(ERROR_CODES);

const candidate = z
  .object({
    deployment: z.string(),
    kept: z.boolean(),
    gate: z
      .enum([
        ...(["permission", "tenants", "residency", "classification"] as const),
        ...(["capability", "context", "expressibility", "pin"] as const),
      ])
      .describe("Which gate left it out.")
      .exactOptional(),
    reason: z.string().describe("Why it stands where it stands, or why it was left out."),
    score: z.number().describe("What the strategy went by; the reason says what that is.").exactOptional(),
    fields: z.array(z.string()).readonly().describe("What it lacks or cannot express.").exactOptional(),
  })
  .meta({ id: "Candidate", description: "One deployment that was considered." });

/** A decision and its reasons. */
export const explanationShape = z
  .object({
    alias: z.string(),
    route: name.describe("The alias that serves."),
    rule: name.describe("`chain`, `override`, `canary`, `raw`, or the name of a rule."),
    strategy: name,
    variant: name,
    classification: name,
    residency: name,
    candidates: z.array(candidate).describe("Those that stay, in the order they are tried; then those left out."),
    chain: z.array(z.string()).readonly(),
    shadow: z
      .array(z.object({ rule: z.string(), chain: z.array(z.string()).readonly() }))
      .readonly()
      .describe("Rules of mode shadow that would have decided."),
    passed: z
      .array(z.object({ rule: z.string(), candidates: z.array(candidate) }))
      .readonly()
      .describe("Rules that match, and of whose chains the gates left nothing."),
    complexity: z.object({ verdict: z.string(), because: z.string(), to: z.string() }).nullable(),
    refused: z
      .object({ code, message: z.string() })
      .nullable()
      .describe("What the client is told where nothing may serve it."),
    config: z.object({
      revision: z.string(),
      recorded: name.describe("Of the config under which the request was made; null for a hypothetical one."),
    }),
    facts: z.looseObject({}).describe("Exactly what the routing function was given."),
  })
  .meta({ id: "Explanation", description: "Where a request goes, and why." }) satisfies z.ZodType<
  Omit<Explanation, "facts">
>;

/** One request with its attempts, and why it went where it went: null where it was never routed. */
export const explainedRequestShape = requestShape
  .and(z.object({ decision: explanationShape.nullable() }))
  .meta({ id: "ExplainedRequest" });

const destination = z.object({ route: name, rule: name, variant: name, deployment: name, refused: code.nullable() });

/** What another config would have made of recorded requests. */
export const whatIfShape: z.ZodType<WhatIfReport> = z
  .object({
    config: z.object({ revision: z.string() }),
    from: z.iso.datetime(),
    to: z.iso.datetime().describe("Exclusive."),
    requests: count.describe("Requests that were decided again."),
    skipped: count.describe("Requests that say too little to be decided again."),
    truncated: z.boolean().describe("There were more, and the oldest were left out."),
    changed: count,
    changes: z.array(
      z.object({
        ...{ alias: z.string(), before: destination, after: destination, requests: count },
        ...{ cost_before_micro_usd: microUsd, cost_after_micro_usd: microUsd },
        example: z.string().describe("The id of one of them."),
      }),
    ),
    refusals: z.object({
      ...{ before: count, after: count },
      by_code: z.array(z.object({ code, message: z.string(), requests: count })),
    }),
    cost: z.object({ before_micro_usd: microUsd, after_micro_usd: microUsd, unknown_requests: count }),
    latency: z.object({ before_ms: ms, after_ms: ms, unknown_requests: count }),
    deployments: z.array(
      z.object({ deployment: z.string(), requests_before: count, requests_after: count, expected_ms: ms }),
    ),
  })
  .meta({ id: "WhatIf", description: "What would change, and what it would cost." });
