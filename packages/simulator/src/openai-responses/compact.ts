import type { JsonObject } from "../json.ts";
import type { Plan } from "../models/plan.ts";
import type { Stamp, WireFormat } from "../wire.ts";
import { openAiResponses } from "./index.ts";
import { type ResponsesRequest, readResponsesRequest } from "./request.ts";
import { responsesUsage } from "./response.ts";
import { seal } from "./seal.ts";

/** Shortens a conversation to its user messages and a sealed summary: POST /v1/responses/compact. */
export const openAiCompaction: WireFormat = {
  ...openAiResponses,
  dialect: "openai-compaction",
  read(body, strict, state) {
    const request = readResponsesRequest({ ...body, stream: false }, strict, state);
    const ask = { ...request.ask, tools: [], toolResult: null, format: { kind: "text" as const } };
    return { ask, json: (plan, stamp) => JSON.stringify(compaction(request, plan, stamp)), steps: () => [] };
  },
};

function compaction(request: ResponsesRequest, plan: Plan, stamp: Stamp): JsonObject {
  const tail = `sim${request.state.account}_${stamp.n}`;
  const asked = [...request.earlier, ...request.given].filter(({ role }) => role === "user");
  const kept = asked.map(({ content }, i) => ({
    id: `msg_${tail}_${i}`,
    type: "message",
    status: "completed",
    content: typeof content === "string" ? [{ type: "input_text", text: content }] : content,
    role: "user",
  }));
  const summary = plan.parts.map((part) => part.text).join("");
  const sealed = { id: `cmp_${tail}`, type: "compaction", encrypted_content: seal(request.state.account, summary) };
  return {
    id: `resp_${tail}`,
    object: "response.compaction",
    created_at: stamp.created,
    output: [...kept, sealed],
    ...(plan.reportsUsage && { usage: responsesUsage(plan.usage) }),
  };
}
