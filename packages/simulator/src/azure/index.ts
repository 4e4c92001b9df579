import type { Exchange } from "../exchange.ts";
import { queryOf } from "../gemini/target.ts";
import { isObject } from "../json.ts";
import { type Problem, ProblemError, problem } from "../models/problem.ts";
import { openAiErrorStep } from "../openai-error.ts";
import type { WireFormat } from "../wire.ts";
import { filtered } from "./filter.ts";
import { AZURE_MANNERS, azureErrorBody } from "./manners.ts";

const DEPLOYMENT = /^\/openai\/deployments\/([^/]+)(\/.+)$/;
const V1 = /^\/openai\/v1(\/.+)$/;
const RESPONSES = /^\/openai(\/responses(?:\/.+)?)$/;
const DATED = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/;

/** A call as Azure's paths have it. */
interface Addressed {
  /** OpenAI's own path. */
  path: string;
  /** The deployment, where the path names it. */
  deployment: string | null;
  /** What is wrong with its `api-version`; null: nothing. */
  fault: Problem | null;
}

/**
 * Azure OpenAI: POST /openai/deployments/{deployment}/… and /openai/responses with a dated api-version, /openai/v1/… without
 * one. `formats` are OpenAI's by path; null when the path is none of these.
 */
export function azureCall(exchange: Exchange, formats: ReadonlyMap<string, WireFormat>): WireFormat | null {
  const called = addressed(exchange);
  const format = called === null ? undefined : formats.get(called.path);
  if (called === null || format === undefined) return null;
  const { deployment, fault } = called;
  const body = isObject(exchange.body) ? exchange.body : {};
  const stream = format.streams?.(body) ?? body.stream === true;
  return {
    ...format,
    manners: AZURE_MANNERS,
    ...(deployment !== null && { target: { model: deployment, stream } }),
    read(given, strict, state) {
      if (fault !== null) throw new ProblemError(fault);
      const request = format.read(deployment === null ? given : { ...given, model: deployment }, strict, state);
      return format.dialect === "openai-chat" ? filtered(request) : request;
    },
    errorBody: azureErrorBody,
    errorStep: openAiErrorStep,
  };
}

/** OpenAI's own path of a kept response, where Azure has it; the path itself otherwise. */
export function plainPath(exchange: Exchange): string {
  const rest = (V1.exec(exchange.path) ?? RESPONSES.exec(exchange.path))?.[1];
  return rest?.startsWith("/responses/") === true ? `/v1${rest}` : exchange.path;
}

function addressed({ path, req }: Exchange): Addressed | null {
  const version = queryOf(req.url ?? "").get("api-version");
  const [, name, under] = DEPLOYMENT.exec(path) ?? [];
  if (name !== undefined) return { path: `/v1${under}`, deployment: decoded(name), fault: datedFault(version) };
  const v1 = V1.exec(path)?.[1];
  if (v1 !== undefined) return { path: `/v1${v1}`, deployment: null, fault: v1Fault(version) };
  const responses = RESPONSES.exec(path)?.[1];
  return responses === undefined ? null : { path: `/v1${responses}`, deployment: null, fault: datedFault(version) };
}

/** Without a version there is nothing at such a path. */
function datedFault(version: string | null): Problem | null {
  if (version === null) return problem("not_found", 404, "Resource not found");
  return DATED.test(version) ? null : unsupported("API version not supported");
}

function v1Fault(version: string | null): Problem | null {
  if (version === null || version === "preview" || version === "v1") return null;
  return unsupported("api-version query parameter is not allowed when using /v1 path");
}

function unsupported(message: string): Problem {
  return problem("invalid_request", 400, message, { code: "BadRequest" });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
