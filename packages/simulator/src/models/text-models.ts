import { answer, callTools, jsonPart, plainPart } from "./answer.ts";
import type { Ask, AskTool } from "./ask.ts";
import type { Behaviour } from "./behaviour.ts";
import { mirrored } from "./mirror.ts";
import type { Draft } from "./plan.ts";
import type { Settings } from "./settings.ts";
import { fillerPart, textPart } from "./text.ts";

/** Whether the turn may call tools: some are offered, not forbidden, and no result is waiting to be read. */
function mayCall(ask: Ask, settings: Settings): boolean {
  const unread = ask.toolResult === null || settings.always === true;
  return callable(ask, settings).length > 0 && ask.toolChoice.mode !== "none" && unread;
}

/** The tools it may pick from: all that are offered, or the first of the names in `call` that is. */
function callable({ tools }: Ask, { call }: Settings): readonly AskTool[] {
  if (call === undefined) return tools;
  const named = call.flatMap((name) => tools.find((tool) => tool.name === name) ?? []);
  return named.slice(0, 1);
}

function withTools(ask: Ask, settings: Settings): Draft {
  if (mayCall(ask, settings)) return callTools({ ...ask, tools: callable(ask, settings) }, settings);
  const { says } = settings;
  return says === undefined ? answer(ask, settings) : { parts: [textPart("text", says, "words")], finish: "stop" };
}

function withReasoning(ask: Ask, settings: Settings): Draft {
  const { tokens, ...rest } = settings;
  const draft = answer(ask, rest);
  return { ...draft, parts: [fillerPart("reasoning", tokens ?? 20), ...draft.parts] };
}

/** Models that answer properly. */
export const TEXT_MODELS = {
  echo: { about: "answers the last user message, one delta a word", draft: answer },
  slow: { about: "echo after a wait", defaults: { first_token: 1000 }, draft: answer },
  long: { about: "many deltas of one token", defaults: { tokens: 500 }, draft: answer },
  fixed: { about: "echo with the usage figures it is told", draft: answer },
  nousage: {
    about: "echo that keeps its usage from the peer, asked or not",
    draft: (ask, settings) => ({ ...answer(ask, settings), reportsUsage: false }),
  },
  tool: {
    about: "calls the first tool, or `calls` tools; text when none is offered or a result was just given",
    own: ["calls", "call", "args", "always", "says"],
    draft: withTools,
  },
  reason: { about: "`tokens` of reasoning, then echo", own: ["field"], draft: withReasoning },
  json: {
    about: "answers JSON: fitting the schema of the request, else the user's text in an object",
    draft: (ask) => ({ parts: [jsonPart(ask)], finish: "stop" }),
  },
  mirror: {
    about: "answers JSON that says what was understood of the request",
    draft: (ask) => ({ parts: [textPart("text", JSON.stringify(mirrored(ask)), "fragments")], finish: "stop" }),
  },
  refuse: {
    about: "declines in the refusal field",
    draft: () => ({
      parts: [textPart("refusal", "I'm sorry, I can't help with that.", "words")],
      finish: "stop",
    }),
  },
  blocked: {
    about: "an empty answer that says the prompt was turned away, for `reason` (SAFETY) where the format tells one",
    own: ["reason"],
    draft: (_ask, settings) => ({ parts: [], finish: "content_filter", blocked: settings.reason ?? "SAFETY" }),
  },
  filter200: {
    about: "echo that ends with finish reason content_filter",
    draft: (ask, settings) => ({ parts: [plainPart(ask, settings)], finish: "content_filter" }),
  },
  longline: {
    about: "one delta of `bytes` bytes, whatever the output cap",
    own: ["bytes"],
    draft: (_ask, settings) => ({
      parts: [textPart("text", "x".repeat(settings.bytes ?? 1_000_000), "whole")],
      finish: "stop",
      capped: false,
    }),
  },
  gzip: {
    about: "echo, compressed with gzip whether or not the client takes it",
    draft: (ask, settings) => ({ ...answer(ask, settings), gzip: true }),
  },
} satisfies Readonly<Record<string, Behaviour>>;
