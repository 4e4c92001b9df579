import { FEEDBACK_DIMENSIONS } from "@sluicegate/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { GatewayError } from "../core/errors.ts";
import type { FeedbackFilter } from "../ledger/feedback-reads.ts";
import { authenticate, tenantScope } from "./auth.ts";
import { defaultRange } from "./default-range.ts";
import type { ControlParts } from "./parts.ts";
import { readQuery } from "./query.ts";

const PAGE_DEFAULT = 50;
const PAGE_MAX = 1_000;
const LIMIT_WORDS = `must be a whole number from 1 to ${PAGE_MAX}`;

/** Query of GET /admin/feedback. */
export const feedbackQuery = z.strictObject({
  by: z
    .string()
    .describe(
      `Dimensions to group by, with commas between: ${FEEDBACK_DIMENSIONS.join(", ")}. Absent: the scores themselves.`,
    )
    .optional(),
  tenant: z.string().describe("Only the scores of this tenant.").optional(),
  from: z
    .string()
    .describe("Given at or after, ISO 8601. Default of a report: the start of the current month, UTC.")
    .optional(),
  to: z.string().describe("Given before. Default of a report: the end of the current month, UTC.").optional(),
  limit: z.coerce
    .number(LIMIT_WORDS)
    .int(LIMIT_WORDS)
    .min(1, LIMIT_WORDS)
    .max(PAGE_MAX, LIMIT_WORDS)
    .describe(`Scores of one page; ${PAGE_DEFAULT} where it is absent.`)
    .optional(),
  cursor: z.string().describe("`next_cursor` of the page before.").optional(),
});

/** GET /admin/feedback: what clients thought of answers, by what served them; without `by`, their scores, newest first. */
export function feedbackRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.get("/admin/feedback", async (request) => {
    const principal = authenticate(parts.adminKeys(), request.headers.authorization);
    const { by, ...query } = readQuery(feedbackQuery, request.query);
    const tenant = tenantScope(principal, query.tenant);
    if (by === undefined) return parts.reader.scores(filterOf({ ...query, tenant }));
    const stray = (["limit", "cursor"] as const).find((name) => query[name] !== undefined);
    if (stray)
      throw new GatewayError("invalid_request", `${stray} has no meaning beside by: a report is whole`, {
        param: stray,
      });
    const names = by.split(",").flatMap((name) => name.trim() || []);
    const range = defaultRange(query, parts.clock.now());
    return parts.reader.feedback({ by: names, ...range, ...(tenant !== undefined && { tenant }) });
  });
}

function filterOf({ limit = PAGE_DEFAULT, ...rest }: Omit<z.output<typeof feedbackQuery>, "by">): FeedbackFilter {
  const filter: FeedbackFilter = { limit };
  for (const name of ["tenant", "from", "to", "cursor"] as const) {
    const value = rest[name];
    if (value !== undefined) filter[name] = value;
  }
  return filter;
}
