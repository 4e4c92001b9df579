import type { Call } from "../../core/call.ts";
import type { ClientRequest, Protocol } from "../protocol.ts";
import { openaiResponses } from "./protocol.ts";

/**
 * POST /v1/responses/compact (WIRE A2): a conversation in, its compaction out. It costs like any call and is metered as one;
 * only a deployment that speaks Responses has it, and nothing of it streams.
 */
export const openaiResponsesCompact: Protocol = {
  ...openaiResponses,
  name: "openai-responses-compact",
  clientPaths: openaiResponses.clientPaths.map((path) => `${path}/compact`),
  upstreamPath: () => "/responses/compact",
  decodeRequest: (request: ClientRequest): Call => ({
    ...openaiResponses.decodeRequest(request),
    dialect: "openai-responses-compact",
    stream: false,
  }),
  translation: null,
};
