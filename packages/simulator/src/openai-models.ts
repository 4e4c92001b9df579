import { ProblemError, problem } from "./models/problem.ts";
import { MODELS } from "./models/resolve.ts";

/** 2026-01-01, the birthday of every simulated model, in unix seconds. */
const CREATED = 1_767_225_600;

/** GET /v1/models: the names that have a behaviour, `missing` not among them. */
export function listModels(): unknown {
  const names = [...MODELS.keys()].filter((name) => name !== "missing");
  return { object: "list", data: names.map(modelObject) };
}

/** One model, under the name it was asked by. */
export function modelObject(id: string): unknown {
  if (id === "missing") {
    throw new ProblemError(problem("model_not_found", 404, "The model 'missing' does not exist", { param: "model" }));
  }
  return { id, object: "model", created: CREATED, owned_by: "sluicegate-simulator" };
}
