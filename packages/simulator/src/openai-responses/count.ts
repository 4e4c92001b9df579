import type { WireFormat } from "../wire.ts";
import { openAiResponses } from "./index.ts";
import { readResponsesRequest } from "./request.ts";

/** How many tokens a request would have as input: POST /v1/responses/input_tokens. It costs nothing. */
export const openAiInputTokens: WireFormat = {
  ...openAiResponses,
  dialect: "openai-input-tokens",
  billed: false,
  read(body, strict, state) {
    const { ask } = readResponsesRequest({ ...body, stream: false }, strict, state);
    return {
      ask: { ...ask, stream: false, generates: false },
      json: ({ usage }) => JSON.stringify({ object: "response.input_tokens", input_tokens: usage.input }),
      steps: () => [],
    };
  },
};
