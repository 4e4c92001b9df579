import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { GatewayError } from "../core/errors.ts";
import type { RequestFilter } from "../ledger/ledger.ts";
import { authenticate, tenantScope } from "./auth.ts";
import { explanationOf } from "./explain.ts";
import type { ControlParts } from "./parts.ts";
import { readQuery } from "./query.ts";

const PAGE_DEFAULT = 50;
const PAGE_MAX = 1_000;
const LIMIT_WORDS = `must be a whole number from 1 to ${PAGE_MAX}`;
const STATUSES = ["running", "ok", "failed", "refused", "cancelled", "abandoned"] as const;

const time = (words: string) => z.string().describe(`${words}, ISO 8601; UTC where no zone is given.`).optional();

/** Query of GET /admin/requests. */
export const requestsQuery = z.strictObject({
  tenant: z.string().optional(),
  alias: z.string().describe("The alias the client asked for.").optional(),
  deployment: z.string().describe("The deployment that served, or that was asked last.").optional(),
  status: z.enum(STATUSES, `must be one of ${STATUSES.join(", ")}`).optional(),
  from: time("Started at or after"),
  to: time("Started before"),
  limit: z.coerce
    .number(LIMIT_WORDS)
    .int(LIMIT_WORDS)
    .min(1, LIMIT_WORDS)
    .max(PAGE_MAX, LIMIT_WORDS)
    .default(PAGE_DEFAULT)
    .describe("Rows of one page."),
  cursor: z.string().describe("`next_cursor` of the page before.").optional(),
});

/** GET /admin/requests and /admin/requests/{id}: what went through the gateway, newest first; one alone with its decision. */
export function requestRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.get("/admin/requests", async (request) => {
    const principal = authenticate(parts.adminKeys(), request.headers.authorization);
    const query = readQuery(requestsQuery, request.query);
    const tenant = tenantScope(principal, query.tenant);
    return parts.reader.requests(filterOf({ ...query, tenant }));
  });
  app.get<{ Params: { id: string } }>("/admin/requests/:id", async (request) => {
    const principal = authenticate(parts.adminKeys(), request.headers.authorization);
    readQuery(z.strictObject({}), request.query);
    const record = await parts.reader.request(request.params.id);
    // Another tenant's request is answered as one that does not exist.
    if (record && (principal.tenant === null || record.tenant === principal.tenant)) {
      return { ...record, decision: explanationOf(parts, record) };
    }
    throw new GatewayError(
      "not_found",
      "there is no such request; one that has just ended takes a moment to be listed",
    );
  });
}

function filterOf({ limit, ...rest }: z.output<typeof requestsQuery>): RequestFilter {
  const filter: RequestFilter = { limit };
  for (const name of ["tenant", "alias", "deployment", "status", "from", "to", "cursor"] as const) {
    const value = rest[name];
    if (value !== undefined) filter[name] = value;
  }
  return filter;
}
