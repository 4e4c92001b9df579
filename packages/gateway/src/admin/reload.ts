import type { ErrorBody } from "@sluicegate/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { authenticate, requireAdmin } from "./auth.ts";
import type { ControlParts } from "./parts.ts";
import { readQuery } from "./query.ts";

/** POST /admin/config/reload: 200 when the new config holds, 409 with what is wrong when the old one still does. */
export function reloadRoutes(
  app: FastifyInstance,
  parts: ControlParts,
  reload: NonNullable<ControlParts["reload"]>,
): void {
  app.post("/admin/config/reload", async (request, reply) => {
    const principal = authenticate(parts.adminKeys(), request.headers.authorization);
    requireAdmin(principal);
    readQuery(z.strictObject({}), request.query);
    const { ok, problems } = await reload();
    const { revision } = parts.configState();
    parts.log.info("config reload asked for", {
      ok,
      revision,
      by: principal.keyHash?.slice(0, 8),
      request_id: request.id,
    });
    if (ok) return { ok, revision, problems };
    const error: ErrorBody = {
      message: `the config was refused, and revision ${revision} still holds; problems says why`,
      type: "invalid_request_error",
      param: null,
      code: "config_refused",
      request_id: request.id,
    };
    return reply.code(409).send({ ok, revision, problems, error });
  });
}
