import { noUsage, type Usage } from "@sluicegate/contract";
import type { InvoiceLine } from "./invoice.ts";

/** A piece of an answer on its way: bytes, and what they tell. */
export interface Frame {
  bytes: Buffer;
  /** Text in it. */
  text?: string;
  /** What of the usage is told by it. */
  reports?: Partial<Usage>;
  /** It is no piece of an answer. */
  breaks?: boolean;
  /** The finish reason is in it. */
  finishes?: boolean;
}

/** What an answer is made from. */
export interface Said {
  id: string;
  model: string;
  words: readonly string[];
  usage: Usage;
  finish: InvoiceLine["finish"];
  /** Usage is told. */
  showsUsage: boolean;
  /** The end mark of the dialect is sent. */
  marksEnd: boolean;
}

/** How a provider says things on the wire. */
export interface Wire {
  whole(said: Said): Buffer;
  /** Preamble, one frame a word, end: each list may be cut anywhere. */
  stream(said: Said): { before: Frame[]; words: Frame[]; after: Frame[] };
  /** An error as a body; `inStream`, as an event. */
  error(error: UpstreamError): Buffer;
  errorEvent(error: UpstreamError): Frame;
}

/** What an error says of itself. */
export interface UpstreamError {
  type: string;
  code: string | null;
  message: string;
}

const CHAT_FINISH = { stop: "stop", length: "length", content_filter: "content_filter" } as const;
const MESSAGES_FINISH = { stop: "end_turn", length: "max_tokens", content_filter: "refusal" } as const;

/** OpenAI's chat completions. */
export const chatWire: Wire = {
  whole: (said) =>
    json({
      ...{ id: said.id, object: "chat.completion", created: 1, model: said.model },
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: said.words.join(""), refusal: null },
          finish_reason: CHAT_FINISH[said.finish],
        },
      ],
      ...(said.showsUsage && { usage: chatUsage(said.usage) }),
    }),
  stream(said) {
    const chunk = (choices: unknown[], more: Record<string, unknown> = {}): Buffer =>
      Buffer.from(
        `data: ${JSON.stringify({ id: said.id, object: "chat.completion.chunk", created: 1, model: said.model, choices, ...more })}\n\n`,
      );
    const delta = (content: unknown, finish: string | null = null): unknown[] => [
      { index: 0, delta: content, finish_reason: finish },
    ];
    return {
      before: [{ bytes: chunk(delta({ role: "assistant", content: "" })) }],
      words: said.words.map((text) => ({ bytes: chunk(delta({ content: text })), text })),
      after: [
        { bytes: chunk(delta({}, CHAT_FINISH[said.finish])), finishes: true },
        ...(said.showsUsage ? [{ bytes: chunk([], { usage: chatUsage(said.usage) }), reports: said.usage }] : []),
        ...(said.marksEnd ? [{ bytes: Buffer.from("data: [DONE]\n\n") }] : []),
      ],
    };
  },
  error: ({ type, code, message }) => json({ error: { message, type, param: null, code } }),
  errorEvent: (error) => ({ breaks: true, bytes: Buffer.from(`data: ${chatWire.error(error).toString()}\n\n`) }),
};

/** Anthropic's messages. */
export const messagesWire: Wire = {
  whole: (said) =>
    json({
      ...{ id: said.id, type: "message", role: "assistant", model: said.model },
      content: [{ type: "text", text: said.words.join("") }],
      ...{ stop_reason: MESSAGES_FINISH[said.finish], stop_sequence: null },
      ...(said.showsUsage && { usage: messagesUsage(said.usage) }),
    }),
  stream(said) {
    const { output_tokens: _, ...input } = messagesUsage(said.usage);
    const message = {
      ...{ id: said.id, type: "message", role: "assistant", model: said.model, content: [] },
      ...{ stop_reason: null, stop_sequence: null },
      ...(said.showsUsage && { usage: { ...input, output_tokens: 1 } }),
    };
    const end = {
      delta: { stop_reason: MESSAGES_FINISH[said.finish], stop_sequence: null },
      ...(said.showsUsage && { usage: { output_tokens: said.usage.output_tokens } }),
    };
    return {
      before: [
        {
          bytes: event("message_start", { message }),
          ...(said.showsUsage && { reports: { ...said.usage, output_tokens: 1 } }),
        },
        { bytes: event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) },
        { bytes: event("ping", {}) },
      ],
      words: said.words.map((text) => ({
        bytes: event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
        text,
      })),
      after: [
        { bytes: event("content_block_stop", { index: 0 }) },
        {
          bytes: event("message_delta", end),
          finishes: true,
          ...(said.showsUsage && { reports: { output_tokens: said.usage.output_tokens } }),
        },
        ...(said.marksEnd ? [{ bytes: event("message_stop", {}) }] : []),
      ],
    };
  },
  error: ({ type, message }) => json({ type: "error", error: { type, message } }),
  errorEvent: (error) => ({
    breaks: true,
    bytes: Buffer.from(`event: error\ndata: ${messagesWire.error(error).toString()}\n\n`),
  }),
};

/** A usage laid over what was told before. */
export function told(before: Usage | null, now: Partial<Usage>): Usage {
  return { ...(before ?? noUsage()), ...now };
}

function chatUsage(usage: Usage): Record<string, unknown> {
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_input_tokens },
  };
}

/** Its input leaves out what was read from the cache. */
function messagesUsage(usage: Usage): { input_tokens: number; output_tokens: number; cache_read_input_tokens: number } {
  return {
    input_tokens: usage.input_tokens - usage.cached_input_tokens,
    cache_read_input_tokens: usage.cached_input_tokens,
    output_tokens: usage.output_tokens,
  };
}

function event(name: string, members: Record<string, unknown>): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify({ type: name, ...members })}\n\n`);
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}
