import type { IncomingMessage, ServerResponse } from "node:http";
import { azureCall, plainPath } from "./azure/index.ts";
import { CONTROLS } from "./control.ts";
import { BODY_BYTES_MAX, type Exchange, parseBody, readBody } from "./exchange.ts";
import { generate } from "./generate.ts";
import { type Problem, ProblemError, problem } from "./models/problem.ts";
import { openAiSpeech } from "./openai-audio/speech.ts";
import { openAiTranscriptions, openAiTranslations } from "./openai-audio/transcriptions.ts";
import { openAiChat } from "./openai-chat/index.ts";
import { openAiCompletions } from "./openai-completions/index.ts";
import { openAiEmbeddings } from "./openai-embeddings.ts";
import { openAiImageEdits, openAiImages } from "./openai-images/index.ts";
import { openAiModerations } from "./openai-moderations/index.ts";
import { openAiCompaction } from "./openai-responses/compact.ts";
import { openAiInputTokens } from "./openai-responses/count.ts";
import { openAiResponses } from "./openai-responses/index.ts";
import { answerResource } from "./openai-responses/resources.ts";
import { answerPlainly } from "./plain-answer.ts";
import { spokenAt, type Vendor, vendorAt } from "./spoken.ts";
import type { State } from "./state.ts";
import { answerToken } from "./tokens/endpoints.ts";
import { expiring } from "./tokens/expiring.ts";
import type { WireFormat } from "./wire.ts";

/** Which wire format is spoken where. A later format adds its row here. */
const MODEL_CALLS: ReadonlyMap<string, WireFormat> = new Map([
  ["/v1/chat/completions", openAiChat],
  ["/v1/embeddings", openAiEmbeddings],
  ["/v1/responses", openAiResponses],
  ["/v1/responses/input_tokens", openAiInputTokens],
  ["/v1/responses/compact", openAiCompaction],
  ["/v1/completions", openAiCompletions],
  ["/v1/moderations", openAiModerations],
  ["/v1/images/generations", openAiImages],
  ["/v1/images/edits", openAiImageEdits],
  ["/v1/audio/speech", openAiSpeech],
  ["/v1/audio/transcriptions", openAiTranscriptions],
  ["/v1/audio/translations", openAiTranslations],
]);

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
      if (body !== null) {
        const exchange = { ...call, bodyBytes: body.length, body: parseBody(body, req.headers["content-type"]) };
        if (!answerToken(state, exchange, body)) dispatch(state, exchange);
      } else refuseBody(state, { ...call, bodyBytes: BODY_BYTES_MAX, body: undefined });
    } catch {
      // A failure here is the simulator's own; it must cost one call, not the process.
      res.destroy();
    }
  });
}

function dispatch(state: State, exchange: Exchange): void {
  const { path, method } = exchange;
  const wire = MODEL_CALLS.get(path) ?? azureCall(exchange, MODEL_CALLS) ?? spokenAt(exchange) ?? undefined;
  const controls = Object.hasOwn(CONTROLS, path) ? CONTROLS[path] : undefined;
  const control = controls !== undefined && Object.hasOwn(controls, method) ? controls[method] : undefined;
  if (wire !== undefined && method === "POST") {
    generate(state, exchange, expiring(state, exchange, wire));
  } else if (control !== undefined) {
    control(state, exchange);
  } else if (wire !== undefined || !answerResource(state, { ...exchange, path: plainPath(exchange) })) {
    const vendor = vendorAt(exchange);
    const { modelsPath } = vendor;
    const id = path.startsWith(`${modelsPath}/`) ? decoded(path.slice(modelsPath.length + 1)) : null;
    answerPlainly(
      state,
      exchange,
      id,
      () => {
        if (wire !== undefined) throw notAllowed(exchange, ["POST"]);
        if (controls !== undefined) throw notAllowed(exchange, Object.keys(controls));
        return models(exchange, vendor, id);
      },
      vendor.voice,
    );
  }
}

function models(exchange: Exchange, vendor: Vendor, id: string | null): unknown {
  const { path, method } = exchange;
  if (path !== vendor.modelsPath && id === null) throw failure("not_found", 404, `Invalid URL (${method} ${path})`);
  if (method !== "GET") throw notAllowed(exchange, ["GET"]);
  return id === null ? vendor.list() : vendor.model(id);
}

function refuseBody(state: State, exchange: Exchange): void {
  answerPlainly(state, exchange, null, tooLarge, vendorAt(exchange).voice);
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
