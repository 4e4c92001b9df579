import { type Delivery, wholeBody } from "./delivery/delivery.ts";
import { failureDelivery, type Headers, type Voice } from "./delivery/failure.ts";
import { deliver } from "./delivery/pace.ts";
import { type Exchange, note } from "./exchange.ts";
import { openAiChat } from "./openai-chat/index.ts";
import { OPENAI_MANNERS } from "./openai-manners.ts";
import { Account } from "./records/account.ts";
import { scriptedDelivery } from "./script/script.ts";
import type { State } from "./state.ts";

/** Answers a call that runs no model with the JSON that `say` gives or the problem it throws; rules go first. */
export function answerPlainly(
  state: State,
  exchange: Exchange,
  model: string | null,
  say: () => unknown,
  voice: Voice = openAiChat,
): void {
  const { jsonType } = voice.manners ?? OPENAI_MANNERS;
  const make = (headers: Headers): Delivery =>
    wholeBody(200, { ...headers, "content-type": jsonType }, JSON.stringify(say()));
  answerWith(state, exchange, model, make, voice);
}

/** Answers a call that runs no model with what `make` makes or the problem it throws; rules go first. */
export function answerWith(
  state: State,
  exchange: Exchange,
  model: string | null,
  make: (headers: Headers) => Delivery,
  voice: Voice = openAiChat,
): void {
  const hit = note(state, exchange, model, false);
  const manners = voice.manners ?? OPENAI_MANNERS;
  const headers = manners.headers(exchange);
  const scripted = state.script.take(model, exchange.path);
  const answer =
    scripted === null ? made(state, exchange, make, headers, voice) : scriptedDelivery(scripted, headers, manners);
  deliver(exchange.res, answer, new Account(hit, null), () => state.closing);
}

function made(
  state: State,
  exchange: Exchange,
  make: (headers: Headers) => Delivery,
  headers: Headers,
  voice: Voice,
): Delivery {
  try {
    (voice.manners ?? OPENAI_MANNERS).checkKey(exchange, state.options.requireKey);
    return make(headers);
  } catch (error) {
    return failureDelivery(error, voice, headers);
  }
}
