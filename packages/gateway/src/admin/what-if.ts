import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ConfigProblem } from "../config/snapshot.ts";
import { DURATION_FORM, parseDuration } from "../config/units.ts";
import { GatewayError } from "../core/errors.ts";
import { parseTime } from "../ledger/filters.ts";
import { authenticate, requireAdmin } from "./auth.ts";
import type { ControlParts } from "./parts.ts";
import { readBody, readQuery } from "./query.ts";
import type { WhatIfReport } from "./what-if-report.ts";
import { runWhatIf } from "./what-if-run.ts";

/** A whole config may be sent. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;
const SINCE_DEFAULT = "7d";

/** Body of POST /admin/what-if. */
export const whatIfBody = z.strictObject({
  config: z.string("must be the text of a config").describe("The text of a config (YAML), without an overlay."),
  since: z
    .string("must be a duration, as in `7d`")
    .describe(`How far back: ${DURATION_FORM} (default: 7d).`)
    .optional(),
  from: z.string().describe("Started at or after, in the place of `since`, ISO 8601.").optional(),
  to: z.string().describe("Started before (default: now).").optional(),
  tenant: z.string().describe("Requests of this tenant only.").optional(),
});

/** POST /admin/what-if: how recorded requests would have been routed under another config. */
export function whatIfRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.post("/admin/what-if", { bodyLimit: BODY_BYTES_MAX }, async (request): Promise<WhatIfReport> => {
    requireAdmin(authenticate(parts.adminKeys(), request.headers.authorization));
    readQuery(z.strictObject({}), request.query);
    const { config, tenant, ...times } = readBody(whatIfBody, request.body);
    const span = spanOf(times, parts.clock.now());
    const { runtime, problems } = await parts.routing.tryConfig(config);
    if (!runtime) throw new GatewayError("invalid_request", refusalOf(problems), { param: "config" });
    const { reader, routing } = parts;
    try {
      const key = (id: string) => runtime.snapshot.keys.find((entry) => entry.id === id) ?? routing.key(id);
      return await runWhatIf({ runtime, key, requests: (filter) => reader.requests(filter), tenant, ...span });
    } finally {
      runtime.close();
    }
  });
}

/** The times of a what-if, as ISO 8601. Throws invalid_request, naming the field. */
export function spanOf(
  { since, from, to }: { since?: string | undefined; from?: string | undefined; to?: string | undefined },
  nowMs: number,
): { from: string; to: string } {
  if (since !== undefined && from !== undefined) {
    throw new GatewayError("invalid_request", "since has no meaning beside from", { param: "since" });
  }
  const backMs = parseDuration(since ?? SINCE_DEFAULT);
  if (backMs === null) throw new GatewayError("invalid_request", `since must be ${DURATION_FORM}`, { param: "since" });
  // The moment itself is part of the default.
  const end = to === undefined ? nowMs + 1 : parseTime(to, "to");
  const start = from === undefined ? end - backMs : parseTime(from, "from");
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() };
}

function refusalOf(problems: readonly ConfigProblem[]): string {
  const [first, ...others] = problems.filter(({ severity }) => severity === "error");
  if (!first) return "the config cannot be served";
  const place = first.line === null ? "" : `line ${first.line}: `;
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return `the config has errors: ${place}${first.path === "" ? "" : `${first.path}: `}${first.message}${more}`;
}
