import { jsonWaitMs } from "../delivery/arrange.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { Plan } from "../models/plan.ts";
import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { Stamp, WireFormat } from "../wire.ts";
import { groupsOf, responseId } from "./output.ts";
import { type ResponsesRequest, readResponsesRequest } from "./request.ts";
import { endOf, failureOf, responseObject } from "./response.ts";
import { failedSteps, responsesSteps } from "./stream.ts";

/** OpenAI's responses: POST /v1/responses. */
export const openAiResponses: WireFormat = {
  dialect: "openai-responses",
  manners: { ...OPENAI_MANNERS, namedEvents: true },
  strict: true,
  read(body, strict, state) {
    const request = readResponsesRequest(body, strict, state);
    return {
      ask: request.ask,
      deferred: request.background,
      json: (plan, stamp) => JSON.stringify(request.background ? pending(request, stamp) : done(request, plan, stamp)),
      failedJson: (problem, _plan, stamp) => JSON.stringify(responseObject(request, stamp, failureOf(problem))),
      steps: (plan, stamp) => responsesSteps(request, plan, stamp),
      errorSteps: (problem, _plan, stamp, sent) => failedSteps(request, problem, stamp, sent),
      remember: (plan, stamp) => {
        if (request.kept && plan.problem === null) remember(request, plan, stamp);
      },
    };
  },
  errorBody: (problem) =>
    openAiErrorBody(problem.kind === "context" ? { ...problem, param: problem.param ?? "input" } : problem),
  errorStep: openAiErrorStep,
  endStep: null,
};

function pending(request: ResponsesRequest, stamp: Stamp): JsonObject {
  const status = request.background ? "queued" : "in_progress";
  return responseObject(request, stamp, { status, output: [], usage: null });
}

function done(request: ResponsesRequest, plan: Plan, stamp: Stamp): JsonObject {
  const { fault } = plan;
  if (fault?.kind === "error") return responseObject(request, stamp, failureOf(fault.problem));
  const output = groupsOf(request, plan, stamp).map((group) => group.item);
  return responseObject(request, stamp, endOf(plan, output));
}

function remember(request: ResponsesRequest, plan: Plan, stamp: Stamp): void {
  const { state, ask } = request;
  const id = responseId(request, stamp);
  const input = request.given.map((item, i) => identified(item, `msg_${id.slice("resp_".length)}_in${i}`));
  const whole = done(request, plan, stamp);
  const output = Array.isArray(whole.output) ? whole.output.filter(isObject) : [];
  const stalls = plan.fault?.kind === "stall";
  state.responses.put({
    id,
    pending: pending(request, stamp),
    done: whole,
    input,
    items: [...request.earlier, ...input, ...output],
    steps: () => responsesSteps(request, plan, stamp),
    background: request.background,
    doneAtMs:
      request.background && !ask.stream
        ? performance.now() + (stalls ? Number.POSITIVE_INFINITY : jsonWaitMs(plan))
        : 0,
    cancelled: false,
  });
}

function identified(item: JsonObject, id: string): JsonObject {
  const type = item.type ?? "message";
  if (type !== "message") return item;
  const part = item.role === "assistant" ? "output_text" : "input_text";
  const content = typeof item.content === "string" ? [{ type: part, text: item.content }] : item.content;
  return { id, ...item, type, status: "completed", content };
}
