import { checkBearer } from "../auth.ts";
import type { Exchange } from "../exchange.ts";
import type { Manners } from "../manners.ts";
import { type Problem, type ProblemKind, problem } from "../models/problem.ts";
import { openAiEmbeddings } from "../openai-embeddings.ts";
import { openAiErrorBody } from "../openai-error.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { WireFormat } from "../wire.ts";
import { chatJson, chatSteps, DONE } from "./answer.ts";
import { checkMembers } from "./checks.ts";
import { readRequest } from "./request.ts";

/** Mistral's paths are OpenAI's: here they stand behind its name. */
const PREFIX = "/mistral/v1";
const EMBED_FIELDS = ["model", "input", "encoding_format", "output_dimension", "output_dtype", "metadata"];

/** Type and code by kind, and words where the message is a stand-in. */
const SAID: Readonly<Partial<Record<ProblemKind, readonly [type: string, code: string | null, words: string]>>> = {
  rate_limited: ["rate_limited", "1300", "Requests rate limit exceeded"],
  overloaded: ["service_tier_capacity_exceeded", "3505", "Service tier capacity exceeded for this model."],
  model_not_found: ["invalid_model", "1500", "Invalid model: x"],
  context: [
    "invalid_request_invalid_args",
    "3051",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
  ],
};

const MANNERS: Manners = {
  ...OPENAI_MANNERS,
  checkKey: (exchange, required) => checkBearer(exchange, required !== false),
  headers: ({ requestId }) => ({ "mistral-correlation-id": requestId }),
  unreadable: problem("invalid_request", 422, "JSON decode error", { param: "body", type: "json_invalid" }),
  modelless: problem("invalid_request", 422, "Field required", { param: "body.model", type: "missing" }),
};

const VOICE: Pick<WireFormat, "manners" | "errorBody" | "errorStep" | "endStep"> = {
  manners: MANNERS,
  errorBody,
  errorStep: (refused) => ({ kind: "finish", data: errorBody(refused) }),
  endStep: DONE,
};

const CALLS: Readonly<Record<string, WireFormat>> = {
  "/chat/completions": {
    ...VOICE,
    dialect: "mistral-chat",
    read: (body) => ({ ask: readRequest(body), json: chatJson, steps: chatSteps }),
  },
  "/embeddings": {
    ...VOICE,
    dialect: "mistral-embeddings",
    read(body, strict, state) {
      checkMembers(body, EMBED_FIELDS, "body");
      const { output_dimension: dimensions, ...rest } = body;
      return openAiEmbeddings.read({ ...rest, ...(dimensions != null && { dimensions }) }, strict, state);
    },
  },
};

/** The wire format of a call of Mistral's; null when the path is none. */
export function mistralCall({ path }: Exchange): WireFormat | null {
  if (!path.startsWith(PREFIX)) return null;
  const own = path.slice(PREFIX.length);
  return (Object.hasOwn(CALLS, own) ? CALLS[own] : null) ?? null;
}

/** A 422 lists what is wrong where; a bad key is a word; all else is flat. */
function errorBody(refused: Problem): string {
  const { kind, status, message, param, type, code, stock } = refused;
  if (refused.shape !== undefined) return openAiErrorBody(refused);
  if (status === 422) {
    return JSON.stringify({
      detail: [{ type: type ?? "value_error", loc: (param ?? "body").split("."), msg: message }],
    });
  }
  if (kind === "bad_key") return JSON.stringify({ detail: "Unauthorized" });
  const [ownType, ownCode, words] = SAID[kind] ?? ["invalid_request_error", null, message];
  return JSON.stringify({
    object: "error",
    message: stock === true ? words : message,
    type: type ?? ownType,
    param: null,
    code: code ?? ownCode,
    raw_status_code: status,
  });
}
