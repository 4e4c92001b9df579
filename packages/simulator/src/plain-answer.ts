import { checkKey } from "./auth.ts";
import { type Delivery, wholeBody } from "./delivery/delivery.ts";
import { failureDelivery, type Headers } from "./delivery/failure.ts";
import { deliver } from "./delivery/pace.ts";
import { type Exchange, note } from "./exchange.ts";
import { openAiChat } from "./openai-chat/index.ts";
import { commonHeaders } from "./provider-headers.ts";
import { Account } from "./records/account.ts";
import { scriptedDelivery } from "./script/script.ts";
import type { State } from "./state.ts";

/** Answers a call that runs no model with the JSON that `say` gives or the problem it throws; rules go first. */
export function answerPlainly(state: State, exchange: Exchange, model: string | null, say: () => unknown): void {
  const hit = note(state, exchange, model, false);
  const headers = commonHeaders(exchange);
  const scripted = state.script.take(model, exchange.path);
  const answer = scripted === null ? said(state, exchange, say, headers) : scriptedDelivery(scripted, headers);
  deliver(exchange.res, answer, new Account(hit, null), () => state.closing);
}

function said(state: State, exchange: Exchange, say: () => unknown, headers: Headers): Delivery {
  try {
    checkKey(state, exchange);
    return wholeBody(200, { ...headers, "content-type": "application/json" }, JSON.stringify(say()));
  } catch (error) {
    return failureDelivery(error, openAiChat, headers);
  }
}
