import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOperationObject } from "zod-openapi";
import { authenticate } from "./auth.ts";
import { explainedRequestShape } from "./explain-shapes.ts";
import { errors, json } from "./openapi-answers.ts";
import { deploymentPaths, feedbackPaths } from "./openapi-deployments.ts";
import { explainPaths } from "./openapi-explain.ts";
import type { ControlParts } from "./parts.ts";
import { requestsQuery } from "./requests.ts";
import { errorShape, requestPageShape, spendShape } from "./shapes.ts";
import { spendQuery } from "./spend.ts";

/** GET /admin/openapi.json: the admin API, described by the schemas that it checks its queries with. */
export function openApiRoutes(app: FastifyInstance, parts: ControlParts): void {
  let document: string | undefined;
  app.get("/admin/openapi.json", async (request, reply) => {
    authenticate(parts.adminKeys(), request.headers.authorization);
    document ??= JSON.stringify(createDocument(description(parts)));
    return reply.header("content-type", "application/json; charset=utf-8").send(document);
  });
}

function description(parts: ControlParts): ZodOpenApiObject {
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluicegate admin API",
      version: parts.version,
      description: "What the control plane of a Sluicegate gateway answers to holders of an admin key.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{ adminKey: [] }],
    paths: {
      "/admin/requests": { get: listRequests() },
      "/admin/requests/{id}": { get: oneRequest() },
      "/admin/spend": { get: spend() },
      ...feedbackPaths(),
      ...deploymentPaths(),
      ...explainPaths(),
      ...(parts.reload && { "/admin/config/reload": { post: reload() } }),
      "/admin/openapi.json": { get: itself() },
    },
    components: {
      securitySchemes: {
        adminKey: { type: "http", scheme: "bearer", description: "SLUICEGATE_ADMIN_KEY or another admin key." },
      },
    },
  };
}

function listRequests(): ZodOpenApiOperationObject {
  return {
    operationId: "listRequests",
    summary: "Requests, newest first",
    requestParams: { query: requestsQuery },
    responses: { "200": json("A page of requests.", requestPageShape), ...errors("400", "401", "403") },
  };
}

function oneRequest(): ZodOpenApiOperationObject {
  return {
    operationId: "getRequest",
    summary: "One request with its attempts",
    requestParams: { path: z.object({ id: z.string() }) },
    responses: { "200": json("The request.", explainedRequestShape), ...errors("401", "404") },
  };
}

function spend(): ZodOpenApiOperationObject {
  return {
    operationId: "getSpend",
    summary: "What was used and what it cost",
    requestParams: { query: spendQuery },
    responses: {
      "200": {
        description: "The report.",
        content: { "application/json": { schema: spendShape }, "text/csv": { schema: z.string() } },
      },
      ...errors("400", "401", "403"),
    },
  };
}

function reload(): ZodOpenApiOperationObject {
  const problem = z.object({
    severity: z.enum(["error", "warning"]),
    file: z.string().nullable(),
    line: z.int().nullable(),
    column: z.int().nullable(),
    path: z.string(),
    message: z.string(),
  });
  const result = z.object({ ok: z.boolean(), revision: z.string(), problems: z.array(problem) });
  return {
    operationId: "reloadConfig",
    summary: "Reads the config again; the old one stays when the new one is refused",
    responses: {
      "200": json("The new config holds.", result),
      "409": json("The old config still holds.", errorShape.extend(result.shape).meta({ id: "ReloadRefused" })),
      ...errors("401", "403"),
    },
  };
}

function itself(): ZodOpenApiOperationObject {
  return {
    operationId: "getOpenApi",
    summary: "This document",
    responses: { "200": json("An OpenAPI 3.1 document.", z.looseObject({ openapi: z.string() })), ...errors("401") },
  };
}
