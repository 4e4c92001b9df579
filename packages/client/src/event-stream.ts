import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { CallScope } from "./call-scope.ts";
import { invalidAnswer } from "./error-answer.ts";
import { createError } from "./error-table.ts";

/** Characters of one event at most; a line without an end stops here, not at the memory's. */
const EVENT_CHARS_MAX = 32 * 1024 * 1024;

/** How long the end of the body may lag behind `[DONE]`; after that the connection is given up. */
const END_LAG_MAX_MS = 250;

/**
 * The server-sent events of an answer, as they arrive, until it ends or says `[DONE]`. The scope's time-out bounds each
 * wait for bytes, keep-alive comments included, but not the time the consumer takes. Leaving early cancels the body.
 */
export async function* readEvents(
  response: Response,
  scope: CallScope,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  if (response.body === null) throw invalidAnswer("has no body", response);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const pending: EventSourceMessage[] = [];
  let isTooLarge = false;
  const parser = createParser({
    maxBufferSize: EVENT_CHARS_MAX,
    onEvent: (event) => pending.push(event),
    onError: (error) => {
      isTooLarge ||= error.type === "max-buffer-size-exceeded";
    },
  });
  try {
    for (let ended = false; !ended; ) {
      const bytes = await readBytes(reader, scope);
      ended = bytes === undefined;
      // The blank line at the end lets go of a last event that came without its own.
      parser.feed(bytes === undefined ? `${decoder.decode()}\n\n` : decoder.decode(bytes, { stream: true }));
      for (const event of pending.splice(0)) {
        if (event.data === "[DONE]") return await readToEnd(reader);
        yield event;
      }
      if (isTooLarge) throw invalidAnswer(`holds an event of more than ${EVENT_CHARS_MAX} characters`, response);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** A body that was read to its end leaves its connection to the next call; a cancelled one closes it. */
async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => reader.cancel().catch(() => undefined), END_LAG_MAX_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is complete; how its connection ended no longer matters.
  } finally {
    clearTimeout(timer);
  }
}

async function readBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  scope: CallScope,
): Promise<Uint8Array | undefined> {
  scope.arm();
  try {
    return (await reader.read()).value;
  } catch (cause) {
    throw scope.reason(() =>
      createError({ message: "the connection was lost within the stream", code: "stream_cut", cause }),
    );
  } finally {
    scope.disarm();
  }
}
