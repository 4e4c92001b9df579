import type { Usage } from "@sluicegate/contract";
import { chatOrder, geminiOrder, messagesOrder, orderly } from "./event-order.ts";
import { at, type Json, listAt, textAt } from "./loose-json.ts";
import { readChat } from "./read-chat.ts";
import { readGemini } from "./read-gemini.ts";
import { readMessages } from "./read-messages.ts";
import { readResponses } from "./read-responses.ts";
import { responsesOrder } from "./responses-order.ts";
import type { Reply, Said } from "./said.ts";

/** The dialects in which clients ask for an answer; Gemini's streams come in two framings. */
export const CLIENTS = ["chat", "responses", "messages", "gemini", "gemini-array", "completions"] as const;

/** One of them. */
export type ClientName = (typeof CLIENTS)[number];

/** How a dialect is spoken, and what of an answer it has words for. */
export interface ClientDialect {
  /** The protocol's name in the ledger. */
  protocol: string;
  path(alias: string, stream: boolean): string;
  /** A small request. */
  body(alias: string, stream: boolean): Json;
  read(bytes: Buffer, stream: boolean): Reply;
  /** Throws for an answer that is not of the dialect's shape and order. */
  check(text: string, stream: boolean): void;
  /** What it can tell of an answer. */
  tells(reply: Reply): Reply;
}

const HELLO = "Grüße 👋";

function gemini(framing: "sse" | "array"): ClientDialect {
  return {
    protocol: "gemini-generate",
    path: (alias, stream) =>
      `/v1beta/models/${alias}:${stream ? "streamGenerateContent" : "generateContent"}${stream && framing === "sse" ? "?alt=sse" : ""}`,
    body: () => ({ contents: [{ role: "user", parts: [{ text: HELLO }] }] }),
    read: (bytes) => readGemini(bytes),
    check(text, stream) {
      if (stream) return geminiOrder(text, framing);
      geminiOrder(`[${text}]`, "array");
    },
    tells: ({ choices, usage, model }) => ({
      choices: choices.map(refusalAsText),
      usage: usage && { ...usage, cache_write_tokens: 0, cache_write_1h_tokens: 0 },
      model,
    }),
  };
}

/** By name. */
export const DIALECTS: Record<ClientName, ClientDialect> = {
  chat: {
    protocol: "openai-chat",
    path: () => "/v1/chat/completions",
    body: (model, stream) => ({
      model,
      messages: [{ role: "user", content: HELLO }],
      ...(stream && { stream, stream_options: { include_usage: true } }),
    }),
    read: readChat,
    check: (text, stream) => (stream ? chatOrder(text) : chatShape(JSON.parse(text) as Json)),
    tells: ({ choices, usage, model }) => ({ choices, usage: withoutHours(usage), model }),
  },
  responses: {
    protocol: "openai-responses",
    path: () => "/v1/responses",
    body: (model, stream) => ({ model, input: HELLO, ...(stream && { stream }) }),
    read: readResponses,
    check: (text, stream) => (stream ? responsesOrder(text) : responseShape(JSON.parse(text) as Json)),
    tells: ({ choices, usage, model }) => ({ choices: choices.slice(0, 1), usage: withoutHours(usage), model }),
  },
  messages: {
    protocol: "anthropic-messages",
    path: () => "/v1/messages",
    body: (model, stream) => ({
      model,
      max_tokens: 1_000,
      messages: [{ role: "user", content: HELLO }],
      ...(stream && { stream }),
    }),
    read: readMessages,
    check: (text, stream) => (stream ? messagesOrder(text) : messageShape(JSON.parse(text) as Json)),
    tells: ({ choices, usage, model }) => ({
      choices: choices.slice(0, 1).map((said) => ({
        ...refusalAsText(said),
        // A thought without words is no end of a message: clients show its last block.
        proofs: said.proofs.slice(0, said.proofs.length - said.late),
        finish: said.refusal !== "" && said.finish === "stop" ? "content_filter" : said.finish,
      })),
      usage,
      model,
    }),
  },
  gemini: gemini("sse"),
  "gemini-array": gemini("array"),
  completions: {
    protocol: "openai-completions",
    path: () => "/v1/completions",
    body: (model, stream) => ({
      model,
      prompt: HELLO,
      ...(stream && { stream, stream_options: { include_usage: true } }),
    }),
    read: readChat,
    check(text, stream) {
      if (!stream) return orderly(textAt(JSON.parse(text), "object") === "text_completion", "it is a text_completion");
      orderly(text.endsWith("data: [DONE]\n\n"), "[DONE] is last");
    },
    tells: ({ choices, usage, model }) => ({
      choices: choices.map((said) => ({
        ...refusalAsText(said),
        ...{ reasoning: "", calls: [], proofs: [] },
        finish: said.finish === "tool_calls" ? "stop" : said.finish,
      })),
      usage: withoutHours(usage),
      model,
    }),
  },
};

function refusalAsText(said: Said): Said {
  return { ...said, text: said.text + said.refusal, refusal: "" };
}

/** Only Anthropic tells five minutes from an hour. */
function withoutHours(usage: Usage | null): Usage | null {
  return usage && { ...usage, cache_write_1h_tokens: 0 };
}

function chatShape(body: Json): void {
  orderly(body["object"] === "chat.completion" && textAt(body, "id") !== "", "it is a chat.completion");
  listAt(body, "choices").forEach((choice, place) => {
    orderly(at(choice, "index") === place && at(choice, "message", "role") === "assistant", "choices in order");
    orderly(textAt(choice, "finish_reason") !== "", "a choice has its finish reason");
    for (const call of listAt(choice, "message", "tool_calls")) {
      const given = at(call, textAt(call, "type"));
      orderly(textAt(call, "id") !== "" && textAt(given, "name") !== "", "a call has id and name");
    }
  });
}

function responseShape(body: Json): void {
  orderly(body["object"] === "response" && /^resp_/.test(textAt(body, "id")), "it is a response");
  orderly(/^(?:completed|incomplete)$/.test(textAt(body, "status")), "it has ended");
  const ids = listAt(body, "output").map((item) => textAt(item, "id"));
  orderly(ids.every((id) => id !== "") && new Set(ids).size === ids.length, "every item has an id of its own");
}

function messageShape(body: Json): void {
  orderly(body["type"] === "message" && body["role"] === "assistant", "it is the assistant's message");
  orderly(textAt(body, "stop_reason") !== "", "it has a stop reason");
  const calls = listAt(body, "content").filter((block) => at(block, "type") === "tool_use");
  for (const call of calls) orderly(/^[\w-]+$/.test(textAt(call, "id")), "the id of a call is one of Anthropic's form");
}
