import type { Exchange } from "../exchange.ts";
import type { WireFormat } from "../wire.ts";
import { errorBody, errorStep } from "./error.ts";
import { ANTHROPIC_MANNERS } from "./manners.ts";
import { readRequest } from "./request.ts";
import { messageJson } from "./response.ts";
import { messageSteps, STOP } from "./stream.ts";

const NO_QUIRKS: ReadonlySet<string> = new Set();

/** Anthropic's POST /v1/messages. */
export function anthropicMessages(exchange: Exchange): WireFormat {
  return {
    ...voice(exchange),
    dialect: "anthropic-messages",
    strict: true,
    read(body, strict, state) {
      const quirks = state.model(String(body.model)).settings.quirk ?? NO_QUIRKS;
      const { headers } = exchange.req;
      const { ask, thinking } = readRequest(body, { headers, strict, counting: false, quirks });
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
      const quirks = state.model(String(body.model)).settings.quirk ?? NO_QUIRKS;
      const { ask } = readRequest(body, { headers: exchange.req.headers, strict, counting: true, quirks });
      return { ask, json: (plan) => JSON.stringify({ input_tokens: plan.usage.input }), steps: () => [] };
    },
  };
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
