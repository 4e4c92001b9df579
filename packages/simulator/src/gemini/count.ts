import type { JsonObject } from "../json.ts";
import type { WireRequest } from "../wire.ts";
import { membersOf, wrong } from "./refusals.ts";
import { type Reading, readRequest } from "./request.ts";

/** `:countTokens`, of `contents` alone or of a whole request. */
export function readCount(body: JsonObject, reading: Reading): WireRequest {
  const known = ["contents", "generateContentRequest", "model", ...(reading.vertex ? VERTEX : [])];
  const fields = membersOf(body, reading.strict ? known : null, "");
  const { contents, generateContentRequest: whole } = fields;
  if (contents !== undefined && whole !== undefined) {
    wrong("Only one of contents and generate_content_request may be set.");
  }
  const asked = whole === undefined ? fields : membersOf(whole, null, "generate_content_request");
  const { ask } = readRequest(asked, { ...reading, stream: false });
  return {
    ask: { ...ask, generates: false },
    json: ({ usage }) =>
      JSON.stringify({
        totalTokens: usage.input,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: usage.input }],
      }),
    steps: () => [],
  };
}

const VERTEX = ["systemInstruction", "tools", "generationConfig", "instances"];
