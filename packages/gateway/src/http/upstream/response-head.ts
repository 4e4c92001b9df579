import type { UpstreamHeaders } from "../../core/transport.ts";

/** What came is not HTTP/1.1, or goes over a bound. */
export class ProtocolError extends Error {}

/** The head of one response. Header names are lower case. */
export interface ResponseHead {
  status: number;
  /** Of HTTP/1.x. */
  minorVersion: number;
  headers: UpstreamHeaders;
}

/** How a body is delimited: by its length in bytes, by chunk framing, or by the close of the connection. */
export type Framing = number | "chunked" | "until_close";

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?=[ \r\n])/;
const NUMBER = /^\d{1,15}$/;

const TAB = 9;
const SPACE = 32;

/**
 * Reads a head with the blank line that ends it, each byte a character. Lines may end with LF alone. A CR elsewhere, or a
 * NUL, is refused: others may see a line end where we see none (RFC 9112, 2.2).
 */
export function parseHead(text: string): ResponseHead {
  const line = STATUS_LINE.exec(text);
  if (!line) throw new ProtocolError("not an HTTP/1.1 response");
  if (text.includes("\0")) throw new ProtocolError("a NUL in the response headers");
  const headers: UpstreamHeaders = Object.create(null);
  let name = "";
  let cr = text.indexOf("\r");
  for (let at = 0; at < text.length; ) {
    const lf = text.indexOf("\n", at);
    // Looked for only when passed: a head without one is not searched again for every line.
    if (cr !== -1 && cr < at) cr = text.indexOf("\r", at);
    if (cr !== -1 && cr < lf - 1) throw new ProtocolError("a bare CR in the response headers");
    const end = cr === lf - 1 ? cr : lf;
    if (at > 0 && end > at) name = readLine(text, at, end, name, headers);
    at = lf + 1;
  }
  return { status: Number(line[2]), minorVersion: Number(line[1]), headers };
}

/** One header line, from `start` to its line end at `end`; `before` is the header of the line before. Returns its name. */
function readLine(text: string, start: number, end: number, before: string, headers: UpstreamHeaders): string {
  if (isBlank(text, start)) {
    // An obsolete line fold stands for a space (RFC 9112, 5.2).
    if (before === "") throw new ProtocolError("a response header without a name");
    headers[before] = `${headers[before]} ${trimmed(text, start, end)}`.trimStart();
    return before;
  }
  const colon = text.indexOf(":", start);
  // Space before the colon is no part of the name: taken for one, it would hide a length from us (RFC 9112, 5.1).
  let nameEnd = colon;
  while (nameEnd > start && isBlank(text, nameEnd - 1)) nameEnd--;
  if (nameEnd <= start || colon >= end) throw new ProtocolError("a response header without a name");
  const name = text.slice(start, nameEnd).toLowerCase();
  const value = trimmed(text, colon + 1, end);
  const known = headers[name];
  headers[name] = known === undefined ? value : `${known}, ${value}`;
  return name;
}

/** How the body of a response to anything but HEAD and CONNECT is delimited (RFC 9112, 6.3). */
export function framingOf({ status, headers }: ResponseHead): Framing {
  if (status === 204 || status === 304) return 0;
  const encoding = headers["transfer-encoding"];
  if (encoding !== undefined) return encoding === "chunked" || isChunked(encoding) ? "chunked" : "until_close";
  const length = headers["content-length"];
  return length === undefined ? "until_close" : readLength(length);
}

/** Whether the upstream lets another request follow this response. Framing that says two things ends the connection. */
export function isReusable({ minorVersion, headers }: ResponseHead): boolean {
  const connection = headers["connection"]?.toLowerCase();
  const encoding = headers["transfer-encoding"];
  // HTTP/1.0 knows no chunks: what passed them on may not know where they end.
  if (minorVersion === 0) return encoding === undefined && connection?.includes("keep-alive") === true;
  if (encoding !== undefined && headers["content-length"] !== undefined) return false;
  return connection === undefined || !connection.includes("close");
}

/** False: no chunks, a body until the close. Anything but chunks is refused, since we said that we take nothing else. */
function isChunked(encoding: string): boolean {
  const codings = encoding
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim());
  const real = codings.filter((coding) => coding !== "" && coding !== "identity");
  if (real.some((coding) => coding !== "chunked")) throw new ProtocolError("a transfer-encoding nobody asked for");
  return real.length > 0;
}

function readLength(value: string): number {
  if (NUMBER.test(value)) return Number(value);
  // The same length twice is joined by a comma (RFC 9110, 8.6).
  const [first = "", ...others] = value.split(",").map((length) => length.trim());
  if (!NUMBER.test(first) || others.some((other) => other !== first))
    throw new ProtocolError("a content-length that is no number");
  return Number(first);
}

function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === SPACE || code === TAB;
}
