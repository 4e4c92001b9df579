import { EventStreamCodec } from "@smithy/eventstream-codec";
import type { Json } from "./loose-json.ts";

/*
 * AWS event streams by AWS's own library: what the gateway's reader of frames is held against.
 */

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes as Uint8Array).toString("utf8")),
  (text) => Buffer.from(text, "utf8"),
);

/** One frame: its text headers, and its payload. */
export interface Frame {
  headers: Record<string, string>;
  payload: Buffer;
}

/** A frame on the wire. */
export function frame(headers: Record<string, string>, payload: string): Buffer {
  const named = Object.entries(headers).map(([name, value]) => [name, { type: "string" as const, value }]);
  return Buffer.from(codec.encode({ headers: Object.fromEntries(named), body: Buffer.from(payload) }));
}

/** An event of ConverseStream. */
export function eventFrame(type: string, payload: unknown): Buffer {
  const headers = { ":event-type": type, ":content-type": "application/json", ":message-type": "event" };
  return frame(headers, JSON.stringify(payload));
}

/** An exception inside a stream. */
export function exceptionFrame(type: string, payload: unknown): Buffer {
  const headers = { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" };
  return frame(headers, JSON.stringify(payload));
}

/** The frames of a whole stream. */
function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + bytes.readUInt32BE(at);
    const { headers, body } = codec.decode(bytes.subarray(at, end));
    const texts = Object.entries(headers).flatMap(([name, { type, value }]) =>
      type === "string" ? [[name, value] as const] : [],
    );
    frames.push({ headers: Object.fromEntries(texts), payload: Buffer.from(body) });
    at = end;
  }
  return frames;
}

/** The events of a stream, by name. */
export function eventsOf(bytes: Buffer): { name: string; event: Json }[] {
  return framesOf(bytes).map(({ headers, payload }) => ({
    name: headers[":event-type"] ?? "",
    event: JSON.parse(payload.toString("utf8")) as Json,
  }));
}
