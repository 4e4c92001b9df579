import type { Headers } from "../delivery/failure.ts";
import type { Exchange } from "../exchange.ts";
import type { Manners } from "../manners.ts";
import { type Problem, ProblemError, type ProblemKind, problem } from "../models/problem.ts";
import { openAiErrorBody, openAiErrorParts } from "../openai-error.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import { promptResult } from "./filter.ts";

const KEYLESS =
  "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.";
const FILTERED =
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.";
/** Azure's own codes; what is not here it says as OpenAI does. */
const CODES: Readonly<Partial<Record<ProblemKind, string>>> = {
  bad_key: "401",
  forbidden: "PermissionDenied",
  not_found: "404",
  model_not_found: "DeploymentNotFound",
  rate_limited: "429",
  overloaded: "ServiceUnavailable",
  server: "InternalServerError",
};

/** How Azure OpenAI behaves at every endpoint: a key in `api-key`, or a bearer token of Entra ID. */
export const AZURE_MANNERS: Manners = {
  ...OPENAI_MANNERS,
  checkKey,
  headers: ({ requestId }) => ({
    "apim-request-id": `apim-${requestId}`,
    "x-ms-region": "Simulated North",
    "x-ms-rai-invoked": "true",
  }),
};

function checkKey({ req }: Exchange, required: boolean | undefined): void {
  const { authorization, "api-key": key } = req.headers;
  const bad = key === "bad-key" || authorization === "Bearer bad-key";
  if (bad || (key === undefined && authorization === undefined && required !== false)) {
    throw new ProblemError(problem("bad_key", 401, KEYLESS));
  }
}

/** The JSON body of an error. */
export function azureErrorBody(said: Problem, headers: Headers): string {
  if (said.shape !== undefined) return openAiErrorBody(said);
  if (said.kind === "content_filter") return JSON.stringify({ error: filtered(said) });
  const code = CODES[said.kind];
  if (code === undefined || said.code !== undefined) return openAiErrorBody(said);
  const after = headers["retry-after"];
  const hint = said.kind === "rate_limited" && after !== undefined ? ` Please retry after ${after} seconds.` : "";
  return JSON.stringify({ error: { code, message: openAiErrorParts(said).message + hint } });
}

function filtered({ message, stock }: Problem): unknown {
  return {
    ...{
      message: stock === true ? FILTERED : message,
      type: null,
      param: "prompt",
      code: "content_filter",
      status: 400,
    },
    innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: promptResult(true) },
  };
}
