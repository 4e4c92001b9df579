import type { ZodOpenApiPathsObject } from "zod-openapi";
import { explanationShape, whatIfShape } from "./explain-shapes.ts";
import { explainBody } from "./hypothetical.ts";
import { errors, json } from "./openapi-answers.ts";
import { whatIfBody } from "./what-if.ts";

/** Why a request goes where it goes, and what another config would change. */
export function explainPaths(): ZodOpenApiPathsObject {
  return {
    "/admin/explain": {
      post: {
        operationId: "explain",
        summary: "Why a request goes, or went, where it goes",
        requestBody: { content: { "application/json": { schema: explainBody } } },
        responses: { "200": json("The decision.", explanationShape), ...errors("400", "401", "403", "404") },
      },
    },
    "/admin/what-if": {
      post: {
        operationId: "whatIf",
        summary: "Takes recorded requests through another config",
        requestBody: { content: { "application/json": { schema: whatIfBody } } },
        responses: { "200": json("What would change.", whatIfShape), ...errors("400", "401", "403") },
      },
    },
  };
}
