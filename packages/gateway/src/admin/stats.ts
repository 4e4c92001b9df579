import type { FastifyInstance } from "fastify";
import { authenticate, requireUnbound } from "./auth.ts";
import type { ControlParts } from "./parts.ts";

/** Failed calls, by error class. */
interface Failures {
  failures: Record<string, number>;
}

/** GET /v1/stats: totals since the process started, for any admin key that is bound to no tenant. */
export function statsRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.get("/v1/stats", async (request) => {
    requireUnbound(authenticate(parts.adminKeys(), request.headers.authorization));
    return statsOf(parts);
  });
}

function statsOf(parts: ControlParts): Record<string, unknown> {
  const reading = parts.metrics.read();
  const { routes, deployments } = parts.snapshot();
  const byDeployment = new Map<string, Failures>([...deployments.keys()].map((name) => [name, { failures: {} }]));
  const byProvider = new Map<string, Failures>();
  for (const { deployment, errorClass, count } of reading.attemptFailures) {
    addTo(byDeployment, deployment, errorClass, count);
    // A deployment made on the fly is called `provider/model`.
    const provider = deployments.get(deployment)?.provider ?? deployment.split("/", 1)[0] ?? deployment;
    addTo(byProvider, provider, errorClass, count);
  }
  return {
    in_flight: reading.inFlight,
    reserved_tokens: parts.reservedTokens(),
    requests: reading.requests,
    by_status: reading.byStatus,
    tokens: { input: reading.inputTokens, output: reading.outputTokens },
    cost_micro_usd: reading.costMicroUsd,
    failovers: reading.failovers,
    retries: reading.retries,
    hedges: reading.hedges,
    refusals: reading.refusals,
    aliases: [...routes.keys()],
    circuits: Object.fromEntries(parts.deployments.circuits().map(({ name, circuit }) => [name, circuit])),
    by_deployment: Object.fromEntries(byDeployment),
    by_provider: Object.fromEntries(byProvider),
  };
}

function addTo(groups: Map<string, Failures>, name: string, errorClass: string, count: number): void {
  const group = groups.get(name) ?? { failures: {} };
  groups.set(name, group);
  group.failures[errorClass] = (group.failures[errorClass] ?? 0) + count;
}
