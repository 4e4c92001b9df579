import type { Call } from "../../core/call.ts";
import { type Dresser, EVENT_STREAM, type Metadata, type StreamShape } from "../protocol.ts";
import { wantsEvents } from "./path.ts";

/**
 * A blank line, not a comment: the SDKs for Python and Go take every line that is not blank for data, and older ones for
 * JavaScript stop at a comment. A blank line is skipped by all of them.
 */
const EVENTS: StreamShape = { contentType: EVENT_STREAM, keepalive: Buffer.from("\n\n") };
/** Between the elements of an array, and before it, white space means nothing. */
const ARRAY: StreamShape = { contentType: "application/json", keepalive: Buffer.from("\n") };
const NOTHING = Buffer.alloc(0);
const COMMA = ",\n";

/** How a stream to this client looks: server-sent events with `alt=sse`, without it one JSON array (WIRE B4). */
export function streamShape(call: Call): StreamShape {
  return wantsEvents(call) ? EVENTS : ARRAY;
}

/** Puts responses, each a JSON text, into one stream. */
interface Framing {
  event(json: string): Buffer;
  end(): Buffer;
}

/** The framing that `call` asks for. */
export function framing(call: Call): Framing {
  if (wantsEvents(call)) return { event: (json) => Buffer.from(`data: ${json}\r\n\r\n`), end: () => NOTHING };
  let opened = false;
  return {
    event(json) {
      const before = opened ? COMMA : "[";
      opened = true;
      return Buffer.from(before + json);
    },
    end: () => Buffer.from(opened ? "\n]" : "[]"),
  };
}

/** The same-dialect lane: upstream always sends events; for a client that wants an array their payloads are framed anew. */
export function dress(call: Call): Dresser | null {
  if (!call.stream || wantsEvents(call)) return null;
  const array = framing(call);
  return {
    reply: (body) => body,
    event: (_raw, data) => (data === null || data.trim() === "" ? NOTHING : array.event(data)),
    end: () => array.end(),
  };
}

/** The last event of a stream that carries `gateway_metadata`. In an array it goes behind others, before the end. */
export function metadataEvent(metadata: Metadata, call: Call): Buffer {
  const json = JSON.stringify({ gateway_metadata: metadata });
  return Buffer.from(wantsEvents(call) ? `data: ${json}\r\n\r\n` : COMMA + json);
}
