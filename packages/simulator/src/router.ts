import type { IncomingMessage, ServerResponse } from "node:http";
import { CONTROLS } from "./control.ts";
import { BODY_BYTES_MAX, type Exchange, parseBody, readBody } from "./exchange.ts";
import { generate } from "./generate.ts";
import { type Problem, ProblemError, problem } from "./models/problem.ts";
import { openAiChat } from "./openai-chat/index.ts";
import { openAiEmbeddings } from "./openai-embeddings.ts";
import { listModels, modelObject } from "./openai-models.ts";
import { answerPlainly } from "./plain-answer.ts";
import type { State } from "./state.ts";
import type { WireFormat } from "./wire.ts";

/** Which wire format is spoken where. A later format adds its row here. */
const MODEL_CALLS: ReadonlyMap<string, WireFormat> = new Map([
  ["/v1/chat/completions", openAiChat],
  ["/v1/embeddings", openAiEmbeddings],
]);
const MODELS_PATH = "/v1/models";

/** Answers one HTTP request. */
export function route(state: State, req: IncomingMessage, res: ServerResponse): void {
  const url = req.url ?? "/";
  const mark = url.indexOf("?");
  const n = state.nextCall();
  const call = {
    n,
    requestId: `req_sim_${n}`,
    startedMs: performance.now(),
    method: req.method ?? "GET",
    path: mark < 0 ? url : url.slice(0, mark),
    req,
    res,
  };
  readBody(req, (body) => {
    try {
      if (body !== null) dispatch(state, { ...call, bodyBytes: body.length, body: parseBody(body) });
      else answerPlainly(state, { ...call, bodyBytes: BODY_BYTES_MAX, body: undefined }, null, tooLarge);
    } catch {
      // A failure here is the simulator's own; it must cost one call, not the process.
      res.destroy();
    }
  });
}

function dispatch(state: State, exchange: Exchange): void {
  const { path, method } = exchange;
  const wire = MODEL_CALLS.get(path);
  const controls = Object.hasOwn(CONTROLS, path) ? CONTROLS[path] : undefined;
  const control = controls !== undefined && Object.hasOwn(controls, method) ? controls[method] : undefined;
  if (wire !== undefined && method === "POST") {
    generate(state, exchange, wire);
  } else if (control !== undefined) {
    control(state, exchange);
  } else {
    const id = path.startsWith(`${MODELS_PATH}/`) ? decoded(path.slice(MODELS_PATH.length + 1)) : null;
    answerPlainly(state, exchange, id, () => {
      if (wire !== undefined) throw notAllowed(exchange, ["POST"]);
      if (controls !== undefined) throw notAllowed(exchange, Object.keys(controls));
      return models(exchange, id);
    });
  }
}

function models(exchange: Exchange, id: string | null): unknown {
  const { path, method } = exchange;
  if (path !== MODELS_PATH && id === null) throw failure("not_found", 404, `Invalid URL (${method} ${path})`);
  if (method !== "GET") throw notAllowed(exchange, ["GET"]);
  if (id === null) return listModels();
  if (id !== "missing") return modelObject(id);
  throw failure("model_not_found", 404, "The model 'missing' does not exist", { param: "model" });
}

function tooLarge(): never {
  const text = `Request body is larger than ${BODY_BYTES_MAX} bytes.`;
  throw failure("too_large", 413, text);
}

function notAllowed({ method, path }: Exchange, allowed: readonly string[]): ProblemError {
  const text = `Not allowed to ${method} on ${path}.`;
  return failure("invalid_request", 405, text, { headers: { allow: allowed.join(", ") } });
}

function failure(kind: Problem["kind"], status: number, text: string, rest?: Partial<Problem>): ProblemError {
  return new ProblemError(problem(kind, status, text, rest));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
