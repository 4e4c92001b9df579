import type { Exchange } from "../exchange.ts";
import type { Manners } from "../manners.ts";
import { type Problem, ProblemError, type ProblemKind, problem } from "../models/problem.ts";
import { openAiErrorBody } from "../openai-error.ts";
import { OPENAI_MANNERS } from "../openai-manners.ts";
import type { WireFormat } from "../wire.ts";
import { chatJson, chatSteps } from "./answer.ts";
import { readEmbed } from "./embed.ts";
import { readChat } from "./request.ts";

/** What Cohere says where the message is a stand-in: status and words. */
const OWN_WORDS: Readonly<Partial<Record<ProblemKind, readonly [status: number, words: string]>>> = {
  bad_key: [401, "invalid api token"],
  model_not_found: [404, "model 'x' not found, make sure the correct model ID was used and that you have access to it"],
  context: [400, "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs"],
  quota: [429, "You are using a Trial key, which is limited to 1000 API calls / month."],
  rate_limited: [429, "You are using a Trial key, which is limited to 20 API calls / minute."],
};

const MANNERS: Manners = {
  ...OPENAI_MANNERS,
  checkKey,
  headers: ({ requestId }) => ({ "x-debug-trace-id": requestId }),
  limitHeaders: () => ({}),
  errorHead: (refused, headers) => ({ status: said(refused)[0], headers }),
  unreadable: problem("invalid_request", 400, "invalid json: unexpected end of JSON input"),
  modelless: problem("invalid_request", 400, "invalid request: model is required"),
  streamType: "text/event-stream",
};

/** How Cohere says what went wrong. */
export const cohereVoice: Pick<WireFormat, "manners" | "errorBody" | "errorStep" | "endStep"> = {
  manners: MANNERS,
  errorBody: (refused) =>
    refused.shape === undefined
      ? JSON.stringify({ id: "00000000-0000-4000-8000-000000000000", message: said(refused)[1] })
      : openAiErrorBody(refused),
  errorStep: (refused) => {
    const delta = { finish_reason: "ERROR", error: said(refused)[1] };
    return { kind: "finish", event: "message-end", data: JSON.stringify({ type: "message-end", delta }) };
  },
  endStep: null,
};

const CALLS: Readonly<Record<string, WireFormat>> = {
  "/v2/chat": {
    ...cohereVoice,
    dialect: "cohere-chat",
    read: (body) => ({ ask: readChat(body), json: chatJson, steps: chatSteps }),
  },
  "/v2/embed": { ...cohereVoice, dialect: "cohere-embeddings", read: readEmbed },
};

/** The wire format of a call of Cohere's v2 API; null when the path is none. */
export function cohereCall({ path }: Exchange): WireFormat | null {
  return (Object.hasOwn(CALLS, path) ? CALLS[path] : null) ?? null;
}

function said({ kind, status, message, stock }: Problem): readonly [status: number, words: string] {
  return (stock === true ? OWN_WORDS[kind] : undefined) ?? [status, message];
}

/** A token it cannot read at all is a status of its own. */
function checkKey({ req }: Exchange, required: boolean | undefined): void {
  const { authorization } = req.headers;
  if (authorization === undefined) {
    if (required === false) return;
    throw new ProblemError(problem("bad_key", 401, "no api key supplied"));
  }
  if (authorization === "Bearer bad-key") throw new ProblemError(problem("bad_key", 401, "invalid api token"));
  if (authorization === "Bearer broken-key") throw new ProblemError(problem("bad_key", 498, "invalid token"));
}
