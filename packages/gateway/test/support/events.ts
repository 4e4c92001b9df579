/** One event of a stream as a client reads it: `[DONE]` as that text, everything else as JSON. Comments are kept apart. */
export interface ReadEvents {
  data: (Record<string, unknown> | "[DONE]")[];
  comments: string[];
  text: string;
}

/** A whole stream's text as events. */
export function eventsOf(text: string): ReadEvents {
  const data: ReadEvents["data"] = [];
  const comments: string[] = [];
  for (const block of text.split(/\r\n\r\n|\n\n|\r\r/)) {
    const lines = block.split(/\r\n|\n|\r/);
    comments.push(...lines.filter((line) => line.startsWith(":")));
    const payload = lines.flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trimStart()] : []));
    if (payload.length > 0) data.push(parse(payload.join("\n")));
  }
  return { data, comments, text };
}

/** A streamed answer, read to its end. */
export async function readEvents(response: Response): Promise<ReadEvents> {
  return eventsOf(await response.text());
}

/** All text deltas of one choice, joined. */
export function textOf(events: ReadEvents, choice = 0): string {
  return choicesOf(events, choice)
    .map(({ delta }) => delta?.content ?? "")
    .join("");
}

/** The finish reasons of one choice. */
export function finishesOf(events: ReadEvents, choice = 0): string[] {
  return choicesOf(events, choice).flatMap(({ finish_reason: reason }) => reason ?? []);
}

/** One entry of `choices` in a chunk. */
export interface ChunkChoice {
  index: number;
  delta?: { content?: string | null } & Record<string, unknown>;
  finish_reason?: string | null;
  logprobs?: unknown;
}

/** Every entry of `choices` that belongs to one choice, in order. */
export function choicesOf(events: ReadEvents, choice = 0): ChunkChoice[] {
  return events.data
    .flatMap((event) => (event === "[DONE]" ? [] : ((event["choices"] as ChunkChoice[] | undefined) ?? [])))
    .filter(({ index }) => index === choice);
}

function parse(payload: string): Record<string, unknown> | "[DONE]" {
  return payload === "[DONE]" ? payload : (JSON.parse(payload) as Record<string, unknown>);
}

/** Reads a stream piece by piece. */
export interface StreamCursor {
  /** Everything read so far. */
  text(): string;
  /** Reads on until `wanted` says yes; fails when the stream ends before. */
  until(wanted: (text: string) => boolean): Promise<void>;
  /** Reads to the end. */
  rest(): Promise<ReadEvents>;
  /** Leaves without reading on. */
  leave(): Promise<void>;
}

/** A cursor over a streamed answer. */
export function cursorOf(response: Response): StreamCursor {
  if (!response.body) throw new Error("the answer has no body");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const next = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    return !done;
  };
  return {
    text: () => text,
    async until(wanted) {
      while (!wanted(text)) if (!(await next())) throw new Error(`the stream ended: ${text.slice(-500)}`);
    },
    async rest() {
      while (await next());
      return eventsOf(text);
    },
    leave: () => reader.cancel(),
  };
}
