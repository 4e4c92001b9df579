import { SPEND_DIMENSIONS } from "@sluicegate/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { GatewayError } from "../core/errors.ts";
import { authenticate, tenantScope } from "./auth.ts";
import { defaultRange } from "./default-range.ts";
import type { ControlParts } from "./parts.ts";
import { readQuery } from "./query.ts";
import { spendCsv } from "./spend-csv.ts";

/** Query of GET /admin/spend. */
export const spendQuery = z.strictObject({
  by: z
    .string()
    .default("")
    .describe(
      `Dimensions to group by, with commas between: ${SPEND_DIMENSIONS.join(", ")}, tag:NAME. None: the total.`,
    ),
  tenant: z.string().describe("Only what this tenant spent.").optional(),
  from: z.string().describe("Start, ISO 8601. Default: the start of the current month, UTC.").optional(),
  to: z.string().describe("End, exclusive. Default: the end of the current month, UTC.").optional(),
  format: z
    .enum(["json", "csv", "focus"], "must be json, csv or focus")
    .default("json")
    .describe("`focus` is not in this build."),
});

/** GET /admin/spend: what was used and what it cost, by any dimension. */
export function spendRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.get("/admin/spend", async (request, reply) => {
    const principal = authenticate(parts.adminKeys(), request.headers.authorization);
    const query = readQuery(spendQuery, request.query);
    if (query.format === "focus") {
      throw new GatewayError("unsupported_feature", "this build does not implement format focus; use json or csv", {
        param: "format",
      });
    }
    const tenant = tenantScope(principal, query.tenant);
    const by = query.by.split(",").flatMap((name) => name.trim() || []);
    const range = defaultRange(query, parts.clock.now());
    const report = await parts.reader.spend({ by, ...range, ...(tenant !== undefined && { tenant }) });
    if (query.format === "json") return report;
    const name = `spend-${report.from.slice(0, 10)}-${report.to.slice(0, 10)}.csv`;
    reply.header("content-type", "text/csv; charset=utf-8; header=present");
    reply.header("content-disposition", `attachment; filename="${name}"`);
    return reply.send(spendCsv(report));
  });
}
