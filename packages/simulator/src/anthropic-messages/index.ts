import type { Exchange } from "../exchange.ts";
import type { JsonObject } from "../json.ts";
import type { State } from "../state.ts";
import type { WireFormat } from "../wire.ts";
import { errorBody, errorStep } from "./error.ts";
import { ANTHROPIC_MANNERS } from "./manners.ts";
import { type Reading, readRequest } from "./request.ts";
import { messageJson } from "./response.ts";
import { messageSteps, STOP } from "./stream.ts";

/** Models that take system turns within a conversation. */
const FIFTH = /^claude-[a-z]+-([5-9]|\d\d)(?!\d)/;
const NO_QUIRKS: ReadonlySet<string> = new Set();

/** Anthropic's POST /v1/messages. */
export function anthropicMessages(exchange: Exchange): WireFormat {
  return {
    ...voice(exchange),
    dialect: "anthropic-messages",
    strict: true,
    read(body, strict, state) {
      const { ask, thinking } = readRequest(body, readingOf(exchange, body, strict, state, false));
      return {
        ask,
        json: (plan, stamp) => messageJson(plan, stamp, thinking.shown),
        steps: (plan, stamp) => messageSteps(plan, stamp, thinking.shown),
      };
    },
  };
}

/** Anthropic's POST /v1/messages/count_tokens, which costs nothing. */
export function anthropicCount(exchange: Exchange): WireFormat {
  return {
    ...voice(exchange),
    dialect: "anthropic-count-tokens",
    strict: true,
    billed: false,
    read(body, strict, state) {
      const { ask } = readRequest(body, readingOf(exchange, body, strict, state, true));
      return { ask, json: (plan) => JSON.stringify({ input_tokens: plan.usage.input }), steps: () => [] };
    },
  };
}

function readingOf(
  { req }: Exchange,
  { model }: JsonObject,
  strict: boolean,
  state: State,
  counting: boolean,
): Reading {
  const name = String(model);
  const quirks = state.model(name).settings.quirk ?? NO_QUIRKS;
  const asked = quirks.has("system_turns") || String(req.headers["anthropic-beta"]).includes("mid-conversation-");
  const systemTurns = asked || FIFTH.test(name.slice(name.lastIndexOf("/") + 1));
  return { headers: req.headers, strict, counting, quirks, systemTurns };
}

/** How Anthropic says what went wrong in one call. */
export function voice({ requestId }: Exchange): Pick<WireFormat, "manners" | "errorBody" | "errorStep" | "endStep"> {
  return {
    manners: ANTHROPIC_MANNERS,
    errorBody: (problem) => errorBody(problem, requestId),
    errorStep: (problem) => errorStep(problem, requestId),
    endStep: STOP,
  };
}
