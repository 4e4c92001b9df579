import { HEADERS } from "@sluicegate/contract";
import { type CallScope, openCallScope } from "./call-scope.ts";
import { type ChatRequest, requestBody } from "./chat-request.ts";
import { createChunkReader } from "./chunk-reader.ts";
import { errorFromBody, invalidAnswer } from "./error-answer.ts";
import { createError } from "./error-table.ts";
import { readEvents } from "./event-stream.ts";
import { parseObject } from "./json-value.ts";
import { readReply } from "./read-reply.ts";
import type { Reply } from "./reply.ts";
import { type GatewayAddress, sendChat } from "./send.ts";
import type { StreamPart } from "./stream-part.ts";

/** An answer as it arrives. The request goes out with the first read; leaving the loop early aborts it. */
export interface ChatStream extends AsyncIterable<StreamPart> {
  /** The whole reply, whether the parts are read or not. It may be asked for before, within or after the loop. */
  final(): Promise<Reply>;
}

interface Ending {
  parts: StreamPart[];
  reply: Reply;
}

type Outcome = { reply: Reply } | { error: unknown };

/** Makes the stream of a request; nothing is sent before it is read. `timeoutMs` bounds each silence. */
export function createChatStream(
  gateway: GatewayAddress,
  request: ChatRequest,
  timeoutMs: number,
  outerSignal: AbortSignal | undefined,
): ChatStream {
  let scope: CallScope | undefined;
  let batches: AsyncGenerator<StreamPart[], Ending, undefined> | undefined;
  let pulling: Promise<void> | undefined;
  let outcome: Outcome | undefined;
  let isTaken = false;
  /** Parts that `final` read before the loop did. */
  let unread: StreamPart[] = [];

  const pullOnce = async () => {
    scope ??= openCallScope(timeoutMs, outerSignal);
    batches ??= readAnswer(gateway, request, scope);
    try {
      const { done, value } = await batches.next();
      unread.push(...(done ? value.parts : value));
      if (done) outcome = { reply: value.reply };
    } catch (error) {
      outcome ??= { error };
    }
  };
  // The loop and `final` may both want more; they share one pull, so that neither takes the other's parts.
  const pull = () => {
    pulling ??= pullOnce().finally(() => {
      pulling = undefined;
    });
    return pulling;
  };
  const close = async () => {
    if (outcome !== undefined || scope === undefined) return;
    scope.abort();
    outcome = { error: scope.signal.reason };
    // Whoever left the loop asked for this abort, so that its reason is no news.
    await batches?.return(undefined as never).catch(() => undefined);
  };

  async function* iterate(): AsyncGenerator<StreamPart, void, undefined> {
    try {
      for (;;) {
        const batch = unread;
        unread = [];
        yield* batch;
        if (batch.length > 0) continue;
        if (outcome === undefined) await pull();
        else if ("error" in outcome) throw outcome.error;
        else return;
      }
    } finally {
      await close();
    }
  }

  return {
    [Symbol.asyncIterator]() {
      if (isTaken) throw new TypeError("the parts of a stream can be read once; final() gives the whole reply");
      isTaken = true;
      return iterate();
    },
    async final() {
      while (outcome === undefined) await pull();
      if ("error" in outcome) throw outcome.error;
      return outcome.reply;
    },
  };
}

/** Sends the request and yields the parts of each event; returns the closing parts with the reply they complete. */
async function* readAnswer(
  gateway: GatewayAddress,
  request: ChatRequest,
  scope: CallScope,
): AsyncGenerator<StreamPart[], Ending, undefined> {
  const startedAt = Date.now();
  try {
    scope.arm();
    const response = await sendChat(gateway, requestBody(request, true), scope.signal);
    scope.disarm();
    const reader = createChunkReader(response.headers, request.model);
    for await (const event of readEvents(response, scope)) {
      const chunk = parseObject(event.data);
      if (chunk === undefined) throw invalidAnswer("holds an event that is not a JSON object", response);
      if (event.event === "error" || chunk["error"]) throw errorFromBody(chunk, response);
      yield reader.read(chunk);
    }
    const parts = reader.end();
    if (parts === undefined) {
      const requestId = response.headers.get(HEADERS.requestId) ?? undefined;
      throw createError({ message: "the stream ended before it was finished", code: "stream_cut", requestId });
    }
    const reply = readReply(reader.completion(), response.headers, request.model, Date.now() - startedAt);
    if (reply === undefined) throw invalidAnswer("has no message", response);
    return { parts, reply };
  } finally {
    scope.end();
  }
}
