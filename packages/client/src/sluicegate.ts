import { HEADERS } from "@sluicegate/contract";
import { openCallScope } from "./call-scope.ts";
import { type ChatRequest, requestBody } from "./chat-request.ts";
import { type ChatStream, createChatStream } from "./chat-stream.ts";
import { errorFromBody, invalidAnswer } from "./error-answer.ts";
import { createError } from "./error-table.ts";
import { parseObject } from "./json-value.ts";
import { readReply } from "./read-reply.ts";
import type { Reply } from "./reply.ts";
import { type GatewayAddress, sendChat } from "./send.ts";

const TIMEOUT_MS = 600_000;
const MAX_RETRIES = 2;

/** How to reach the gateway. */
export interface SluicegateOptions {
  /** For example `http://127.0.0.1:8080`, with or without `/v1`. */
  baseUrl: string;
  /** `sg_…`, or a JWT. */
  apiKey: string;
  /** The runtime's own by default. */
  fetch?: typeof globalThis.fetch | undefined;
  /** How long a chat may take, retries included, or how long a stream may be silent. 10 minutes by default. */
  timeoutMs?: number | undefined;
  /** Retries of the hop to the gateway, 2 by default. What the gateway answers is never retried, unless it is draining. */
  maxRetries?: number | undefined;
}

/** What a single call may have. */
export interface CallOptions {
  /** Aborts the call at any point; the call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A client of one gateway with one key. Holds no connection and needs no closing. */
export class Sluicegate {
  readonly #gateway: GatewayAddress;
  readonly #timeoutMs: number;

  /** Throws a TypeError for a `baseUrl` that is no URL or a key that cannot stand in a header. */
  constructor(options: SluicegateOptions) {
    const { fetch } = options;
    this.#gateway = {
      // Browsers refuse a fetch that is called as a method of something else.
      fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
      url: chatUrl(options.baseUrl),
      headers: new Headers({
        authorization: `Bearer ${options.apiKey}`,
        "content-type": "application/json",
        [HEADERS.metadata]: "on",
      }),
      maxRetries: options.maxRetries ?? MAX_RETRIES,
    };
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** Sends the request and waits for the whole reply. Throws SluicegateError, or the reason of `options.signal`. */
  async chat(request: ChatRequest, options: CallOptions = {}): Promise<Reply> {
    const startedAt = Date.now();
    const scope = openCallScope(this.#timeoutMs, options.signal);
    scope.arm();
    try {
      const response = await sendChat(this.#gateway, requestBody(request, false), scope.signal);
      const text = await response.text().catch((cause) => {
        throw scope.reason(() =>
          createError({ message: "the connection was lost within the answer", code: "connection_lost", cause }),
        );
      });
      const body = parseObject(text);
      if (body === undefined) throw invalidAnswer("is not a JSON object", response);
      if (body["error"]) throw errorFromBody(body, response);
      const reply = readReply(body, response.headers, request.model, Date.now() - startedAt);
      if (reply === undefined) throw invalidAnswer("has no choice with a message", response);
      return reply;
    } finally {
      scope.end();
    }
  }

  /** The reply in parts, as it arrives. Reading it throws what `chat` throws, and for a stream that was cut. */
  stream(request: ChatRequest, options: CallOptions = {}): ChatStream {
    return createChatStream(this.#gateway, request, this.#timeoutMs, options.signal);
  }
}

function chatUrl(baseUrl: string): string {
  const { protocol, origin, pathname } = new URL(baseUrl);
  if (!protocol.startsWith("http")) throw new TypeError("baseUrl must begin with http:// or https://");
  const prefix = pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return `${origin}${prefix}/v1/chat/completions`;
}
