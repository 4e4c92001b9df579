/** One event of an upstream's stream, with the bytes it came in. */
export interface StreamEvent {
  /** What the framing calls it: SSE's `event:` field, a frame's event type; null for none. */
  name: string | null;
  /** Its text; null for one that says nothing (SSE's comments). */
  data: string | null;
  /** The event exactly as it came: the raws of a stream, one after the other, are the stream. */
  raw: Buffer;
}

/** Cuts a byte stream into events, wherever the chunks were cut. Holds at most one. Throws for bytes that are no event. */
export interface EventSplitter {
  /** True when what comes next begins an event. Absent: it cannot be told. */
  readonly isBetween?: boolean;
  /** Feeds bytes; calls `onEvent` for each event they complete, in order, before it returns. */
  push(chunk: Buffer, onEvent: (event: StreamEvent) => void): void;
  /** The end of the stream: what of the last event counts although it is not whole. */
  end(onEvent: (event: StreamEvent) => void): void;
}
