import { openAiErrorBody, openAiErrorStep } from "../openai-error.ts";
import type { WireFormat } from "../wire.ts";
import { readChatRequest } from "./request.ts";
import { chatJson } from "./response.ts";
import { chatSteps, DONE } from "./stream.ts";

/** OpenAI's chat completions: POST /v1/chat/completions. */
export const openAiChat: WireFormat = {
  dialect: "openai-chat",
  read(body, strict) {
    const request = readChatRequest(body, strict);
    return {
      ask: request.ask,
      json: (plan, stamp) => chatJson(request, plan, stamp),
      steps: (plan, stamp) => chatSteps(request, plan, stamp),
    };
  },
  errorBody: openAiErrorBody,
  errorStep: openAiErrorStep,
  endStep: DONE,
};
