import { crc32 } from "node:zlib";
import type { Simulator } from "../src/index.ts";
import type { Loose } from "./kit.ts";

/** POSTs a Converse request with one user message, or `extra`; with an API key unless `headers` say otherwise. */
export function bedrock(
  simulator: Simulator,
  model: string,
  method: "converse" | "converse-stream" | "invoke" | "count-tokens",
  extra: object = {},
  headers: Record<string, string> = { authorization: "Bearer k" },
): Promise<Response> {
  const plain = method.startsWith("converse")
    ? { messages: [{ role: "user", content: [{ text: "alpha beta gamma" }] }] }
    : {};
  const url = `${simulator.url}/model/${encodeURIComponent(model)}/${method}`;
  return fetch(url, { method: "POST", headers, body: JSON.stringify({ ...plain, ...extra }) });
}

/** The JSON of an answer. */
export async function conversed(simulator: Simulator, model: string, extra: object = {}): Promise<Loose> {
  return (await bedrock(simulator, model, "converse", extra)).json();
}

/** One frame, as it was read. */
export interface Framed {
  headers: Record<string, string>;
  payload: Loose;
}

/** The frames of a streamed answer. */
export async function framed(simulator: Simulator, model: string, extra: object = {}): Promise<Framed[]> {
  const response = await bedrock(simulator, model, "converse-stream", extra);
  return framesIn(Buffer.from(await response.arrayBuffer()));
}

/** Reads frames; throws where a checksum is wrong. */
export function framesIn(bytes: Buffer): Framed[] {
  const frames: Framed[] = [];
  for (let at = 0; at < bytes.length; ) {
    const frame = bytes.subarray(at, at + bytes.readUInt32BE(at));
    if (crc32(frame.subarray(0, 8)) !== frame.readUInt32BE(8)) throw new Error("the prelude's checksum is wrong");
    if (crc32(frame.subarray(0, -4)) !== frame.readUInt32BE(frame.length - 4)) throw new Error("the checksum is wrong");
    const end = 12 + frame.readUInt32BE(4);
    const payload = JSON.parse(frame.toString("utf8", end, frame.length - 4)) as Loose;
    frames.push({ headers: headersIn(frame.subarray(12, end)), payload });
    at += frame.length;
  }
  return frames;
}

function headersIn(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at < bytes.length; ) {
    const name = bytes.toString("utf8", at + 1, at + 1 + bytes.readUInt8(at));
    at += 1 + name.length + 1;
    const size = bytes.readUInt16BE(at);
    headers[name] = bytes.toString("utf8", at + 2, at + 2 + size);
    at += 2 + size;
  }
  return headers;
}
