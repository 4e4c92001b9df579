import type { IncomingMessage, ServerResponse } from "node:http";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { GatewayError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { LIMITS } from "../core/limits.ts";
import { consoleRoutes } from "./console.ts";
import { deploymentRoutes } from "./deployments.ts";
import { errorAnswer } from "./error-answer.ts";
import { explainRoutes } from "./explain.ts";
import { feedbackRoutes } from "./feedback.ts";
import { healthRoutes } from "./health.ts";
import { type LoopDelay, watchLoopDelay } from "./loop-delay.ts";
import { metricsRoutes } from "./metrics.ts";
import { openApiRoutes } from "./openapi.ts";
import type { ControlParts } from "./parts.ts";
import { reloadRoutes } from "./reload.ts";
import { requestRoutes } from "./requests.ts";
import { routeTable } from "./route-table.ts";
import { spendRoutes } from "./spend.ts";
import { statsRoutes } from "./stats.ts";
import { whatIfRoutes } from "./what-if.ts";

/** The control plane behind a port that is not its own: it answers what it is handed and never listens. */
export interface ControlPlane {
  /** True for the paths (without the query) that it answers, also where the answer is a 404. */
  handles(path: string): boolean;
  handle(request: IncomingMessage, response: ServerResponse): void;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 64 * 1024;
const PARAM_CHARS_MAX = 256;
const PATHS: ReadonlySet<string> = new Set([
  "/healthz",
  "/readyz",
  "/v1/health",
  "/v1/stats",
  "/metrics",
  "/admin",
  "/console",
]);

/** Builds the control plane. Resolves when it can be handed requests. */
export async function createControlPlane(parts: ControlParts): Promise<ControlPlane> {
  const loopDelay = watchLoopDelay(parts.clock);
  const app = createApp(parts);
  register(app, parts, loopDelay);
  await app.ready();
  return {
    handles: (path) => PATHS.has(path) || path.startsWith("/admin/") || path.startsWith("/console/"),
    handle(request, response) {
      // The port's own timeouts leave bodies to their readers.
      const deadline = parts.clock.after(LIMITS.clientBodyMs, () => {
        if (!request.complete) request.destroy();
      });
      response.once("close", () => deadline.cancel());
      app.routing(request, response);
    },
    async close() {
      loopDelay.stop();
      await app.close();
      await parts.reader.close();
    },
  };
}

function createApp(parts: ControlParts): FastifyInstance {
  const sendError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const { status, headers, body, fault } = errorAnswer(thrown, request.id);
    if (fault !== null) parts.log.fault(request.id, fault);
    for (let i = 0; i + 1 < headers.length; i += 2) reply.header(headers[i] ?? "", headers[i + 1]);
    void reply.header("x-request-id", request.id).code(status).send(body);
  };
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    genReqId: () => newId("req", parts.clock, parts.random),
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    frameworkErrors: sendError,
  });
  app.setErrorHandler(sendError);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ "x-request-id": request.id, "cache-control": "no-store", "x-content-type-options": "nosniff" });
  });
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    async (_: FastifyRequest, body: string) => {
      return new URLSearchParams(body);
    },
  );
  return app;
}

function register(app: FastifyInstance, parts: ControlParts, loopDelay: LoopDelay): void {
  const routes = routeTable(app);
  healthRoutes(app, parts);
  statsRoutes(app, parts);
  metricsRoutes(app, parts, loopDelay);
  requestRoutes(app, parts);
  spendRoutes(app, parts);
  feedbackRoutes(app, parts);
  deploymentRoutes(app, parts);
  explainRoutes(app, parts);
  whatIfRoutes(app, parts);
  openApiRoutes(app, parts);
  if (parts.reload) reloadRoutes(app, parts, parts.reload);
  consoleRoutes(app, parts);
  app.setNotFoundHandler(async (request) => {
    const path = request.url.split("?", 1)[0] ?? "/";
    const allow = routes.methodsOf(path).join(", ");
    if (allow === "") throw new GatewayError("not_found", `there is nothing at ${path.slice(0, 200)}`);
    throw new GatewayError("method_not_allowed", `${path.slice(0, 200)} takes ${allow}`, { allow });
  });
}
