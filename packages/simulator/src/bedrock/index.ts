import type { Exchange } from "../exchange.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { WireFormat, WireRequest } from "../wire.ts";
import { converseJson, converseSteps } from "./answer.ts";
import { readInvoke } from "./embed.ts";
import { errorBody, exceptionOf, said } from "./error.ts";
import { BEDROCK_MANNERS } from "./manners.ts";
import { objectAt, wrong } from "./refusals.ts";
import { readRequest } from "./request.ts";
import { type Target, targetOf } from "./target.ts";

/** How Bedrock says what went wrong. */
export const bedrockVoice: Pick<WireFormat, "manners" | "errorBody" | "errorStep" | "endStep"> = {
  manners: BEDROCK_MANNERS,
  errorBody,
  errorStep: (problem) => {
    const { message, status } = said(problem);
    const original = status === 424 ? { originalStatusCode: 500, originalMessage: message } : {};
    return { kind: "finish", exception: exceptionOf(problem), data: JSON.stringify({ message, ...original }) };
  },
  endStep: null,
};

/** The wire format of a call of Bedrock's runtime; null when the path is none. */
export function bedrockCall(exchange: Exchange): WireFormat | null {
  const target = targetOf(exchange);
  if (target === null) return null;
  const { model, method } = target;
  return {
    ...bedrockVoice,
    target: { model, stream: method === "converse-stream" },
    strict: true,
    ...READS[method],
  };
}

const READS: Readonly<Record<Target["method"], Pick<WireFormat, "dialect" | "read" | "billed">>> = {
  converse: { dialect: "bedrock-converse", read: (body, strict) => converse(body, false, strict) },
  "converse-stream": { dialect: "bedrock-converse", read: (body, strict) => converse(body, true, strict) },
  invoke: { dialect: "bedrock-embeddings", read: readInvoke },
  "count-tokens": { dialect: "bedrock-count-tokens", billed: false, read: readCount },
};

function converse(body: JsonObject, stream: boolean, strict: boolean): WireRequest {
  return { ask: readRequest(body, stream, strict), json: converseJson, steps: converseSteps };
}

/** `/count-tokens`: of a Converse request. */
function readCount(body: JsonObject, strict: boolean): WireRequest {
  const input = objectAt(body.input, "input");
  if (!isObject(input.converse)) return wrong("The input to count must be a Converse request.");
  const ask = readRequest(input.converse, false, strict);
  const json: WireRequest["json"] = ({ usage }) => JSON.stringify({ inputTokens: usage.input });
  return { ask: { ...ask, generates: false }, json, steps: () => [] };
}
