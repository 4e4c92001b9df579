import { anthropicCount, anthropicMessages, voice as anthropicVoice } from "./anthropic-messages/index.ts";
import { anthropicModel, listAnthropicModels } from "./anthropic-messages/models.ts";
import { vertexAnthropic } from "./anthropic-messages/vertex.ts";
import { bedrockCall, bedrockVoice } from "./bedrock/index.ts";
import { cohereCall, cohereVoice } from "./cohere/index.ts";
import type { Voice } from "./delivery/failure.ts";
import type { Exchange } from "./exchange.ts";
import { geminiCall, voice as geminiVoice } from "./gemini/index.ts";
import { geminiModel, listGeminiModels } from "./gemini/models.ts";
import { queryOf, targetOf } from "./gemini/target.ts";
import { mistralCall } from "./mistral/index.ts";
import { openAiChat } from "./openai-chat/index.ts";
import { listModels, modelObject } from "./openai-models.ts";
import type { WireFormat } from "./wire.ts";

/** Who a call that runs no model is for: in which voice it is answered, and what the vendor's models look like. */
export interface Vendor {
  readonly voice: Voice;
  readonly modelsPath: string;
  list(): unknown;
  /** One model, under the name it was asked by; throws where the vendor has own words for one that is missing. */
  model(id: string): unknown;
}

/** The wire format of a call whose path or headers are part of what it says; null where there is none. */
export function spokenAt(exchange: Exchange): WireFormat | null {
  if (exchange.path === "/v1/messages") return anthropicMessages(exchange);
  if (exchange.path === "/v1/messages/count_tokens") return anthropicCount(exchange);
  return (
    cohereCall(exchange) ??
    mistralCall(exchange) ??
    bedrockCall(exchange) ??
    vertexAnthropic(exchange) ??
    geminiCall(exchange)
  );
}

/** The vendor that a path, or a header only one of them wants, belongs to. */
export function vendorAt(exchange: Exchange): Vendor {
  const { path, req } = exchange;
  const url = req.url ?? "";
  const target = targetOf(exchange);
  if (path.startsWith("/v1beta/") || target !== null) {
    const list = (): unknown => listGeminiModels(url);
    return { voice: geminiVoice(target), modelsPath: "/v1beta/models", list, model: geminiModel };
  }
  if (path.startsWith("/v2/")) {
    return { voice: cohereVoice, modelsPath: "/v2/models", list: listModels, model: modelObject };
  }
  if (path.startsWith("/model/")) {
    return { voice: bedrockVoice, modelsPath: "/foundation-models", list: listModels, model: modelObject };
  }
  if (path.startsWith("/v1/messages") || req.headers["anthropic-version"] !== undefined) {
    const list = (): unknown => listAnthropicModels(queryOf(url));
    return { voice: anthropicVoice(exchange), modelsPath: "/v1/models", list, model: anthropicModel };
  }
  return { voice: openAiChat, modelsPath: "/v1/models", list: listModels, model: modelObject };
}
