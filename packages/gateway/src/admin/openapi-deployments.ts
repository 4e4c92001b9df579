import { z } from "zod";
import type { ZodOpenApiPathsObject } from "zod-openapi";
import { CIRCUIT_ACTIONS, type CircuitAction } from "./deployment-seat.ts";
import { deploymentShape, deploymentsShape, feedbackShape } from "./deployment-shapes.ts";
import { circuitBody } from "./deployments.ts";
import { feedbackQuery } from "./feedback.ts";
import { errors, json } from "./openapi-answers.ts";

const byName = z.object({ name: z.string().describe("A slash in it is written as %2F.") });

const SUMMARIES: Readonly<Record<CircuitAction, string>> = {
  open: "Opens a circuit: nobody is sent there",
  close: "Closes a circuit; with `for` it is held closed",
  reset: "Forgets what a circuit has counted, and how it is set",
};

/** Deployments and their circuits. */
export function deploymentPaths(): ZodOpenApiPathsObject {
  const circuits = CIRCUIT_ACTIONS.map((action) => [
    `/admin/circuits/{name}/${action}`,
    {
      post: {
        operationId: `${action}Circuit`,
        summary: SUMMARIES[action],
        requestParams: { path: byName },
        requestBody: { content: { "application/json": { schema: circuitBody } } },
        responses: {
          "200": json("The deployment as it is now.", deploymentShape),
          ...errors("400", "401", "403", "404"),
        },
      },
    },
  ]);
  return {
    "/admin/deployments": {
      get: {
        operationId: "listDeployments",
        summary: "Every deployment and how it is",
        responses: { "200": json("All of them.", deploymentsShape), ...errors("401", "403") },
      },
    },
    "/admin/deployments/{name}": {
      get: {
        operationId: "getDeployment",
        summary: "One deployment and how it is",
        requestParams: { path: byName },
        responses: { "200": json("The deployment.", deploymentShape), ...errors("401", "403", "404") },
      },
    },
    ...(Object.fromEntries(circuits) as ZodOpenApiPathsObject),
  };
}

/** What clients thought of answers. */
export function feedbackPaths(): ZodOpenApiPathsObject {
  return {
    "/admin/feedback": {
      get: {
        operationId: "getFeedback",
        summary: "Scores of answers, one by one or by what served",
        requestParams: { query: feedbackQuery },
        responses: { "200": json("Scores, or a report.", feedbackShape), ...errors("400", "401", "403") },
      },
    },
  };
}
