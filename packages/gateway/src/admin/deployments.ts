import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { didYouMean } from "../config/nearest.ts";
import { DURATION_FORM, parseDuration } from "../config/units.ts";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { authenticate, requireOperator, requireUnbound } from "./auth.ts";
import { CIRCUIT_ACTIONS, type CircuitAction, type CircuitForce } from "./deployment-seat.ts";
import type { ControlParts } from "./parts.ts";
import { readBody, readQuery } from "./query.ts";

/** Body of POST /admin/circuits/{deployment}/{action}. */
export const circuitBody = z.strictObject({
  for: z
    .string("must be a duration, as in `10m`")
    .describe(`How long it holds: ${DURATION_FORM}. Absent: until somebody changes it. Has no meaning for reset.`)
    .optional(),
  reason: z
    .string("must be a text")
    .max(LIMITS.labelCharsMax, `must have at most ${LIMITS.labelCharsMax} characters`)
    .optional(),
});

interface ByName {
  Params: { name: string };
}

/** GET /admin/deployments and /admin/deployments/{name}, POST /admin/circuits/{name}/open, /close and /reset. */
export function deploymentRoutes(app: FastifyInstance, parts: ControlParts): void {
  const { deployments } = parts;
  app.get("/admin/deployments", async (request) => {
    requireUnbound(authenticate(parts.adminKeys(), request.headers.authorization));
    readQuery(z.strictObject({}), request.query);
    return { data: deployments.deployments() };
  });
  app.get<ByName>("/admin/deployments/:name", async (request) => {
    requireUnbound(authenticate(parts.adminKeys(), request.headers.authorization));
    readQuery(z.strictObject({}), request.query);
    return deployments.deployment(request.params.name) ?? unknown(parts, request.params.name);
  });
  for (const action of CIRCUIT_ACTIONS) {
    app.post<ByName>(`/admin/circuits/:name/${action}`, async (request) => {
      const principal = authenticate(parts.adminKeys(), request.headers.authorization);
      requireOperator(principal);
      readQuery(z.strictObject({}), request.query);
      const { name } = request.params;
      const by = principal.keyHash === null ? "console" : `admin key ${principal.keyHash.slice(0, 8)}`;
      const force = { ...forceOf(action, readBody(circuitBody, request.body)), by };
      const state = deployments.force(name, action, force) ?? unknown(parts, name);
      parts.log.info("a circuit was set by hand", {
        ...{ deployment: name, action, circuit: state.circuit, for_ms: force.forMs, reason: force.reason, by },
        request_id: request.id,
      });
      return state;
    });
  }
}

function forceOf(
  action: CircuitAction,
  { for: lasting, reason }: z.output<typeof circuitBody>,
): Omit<CircuitForce, "by"> {
  const said = reason === undefined ? {} : { reason };
  if (lasting === undefined) return said;
  if (action === "reset") throw wrongFor("for has no meaning for reset: it forgets what was, and holds nothing");
  const forMs = parseDuration(lasting);
  if (forMs === null || forMs === 0) throw wrongFor(`for must be ${DURATION_FORM}, and more than nothing`);
  return { ...said, forMs };
}

function wrongFor(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param: "for" });
}

function unknown(parts: ControlParts, name: string): never {
  const hint = didYouMean(name, [...parts.snapshot().deployments.keys()]);
  throw new GatewayError("not_found", `there is no deployment ${JSON.stringify(name.slice(0, 120))}${hint}`);
}
