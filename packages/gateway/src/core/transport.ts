import type { Bytes } from "./pieces.ts";

/** One HTTP/1.1 request to an upstream. Header names are lower case, flat: name, value, name, value. */
export interface UpstreamRequest {
  /** Scheme, host and port, for example `https://api.openai.com`. */
  origin: string;
  method: "GET" | "POST" | "DELETE";
  /** Path with query. */
  path: string;
  headers: string[];
  body: Bytes | null;
  /** How long a new connection may take, in ms. */
  connectTimeoutMs: number;
  /** Connections that may be open to this deployment; its own pool is keyed by `pool`. */
  pool: { key: string; connections: number; tls?: UpstreamTls; proxy?: string };
  /** Answers inside the process, in the place of a server: it feeds the sink as the transport would. */
  local?: (sink: UpstreamSink) => UpstreamCall;
}

/** TLS material for one upstream, PEM. */
export interface UpstreamTls {
  ca?: string;
  cert?: string;
  key?: string;
}

/** Header values by lower-case name; a repeated header is joined with `, `. */
export type UpstreamHeaders = Record<string, string>;

/** What happens to an upstream request, in this order: sent?, headers, data*, then exactly one of end or error. */
export interface UpstreamSink {
  /** The connection is there and the request is being written: from now on the provider may be doing the work. */
  onSent(): void;
  onHeaders(status: number, headers: UpstreamHeaders): void;
  /** A piece of the body, the sink's to keep. */
  onData(chunk: Buffer): void;
  /**
   * Asked before `onData`: true when the piece, which stands in `bytes` from `from` to `to`, went on at once. The bytes are
   * lent: they are others' as soon as it returns. False, or absent: `onData` gets the piece.
   */
  passes?(bytes: Buffer, from: number, to: number): boolean;
  onEnd(): void;
  /** `kind` says where it broke; after `reset` the provider may have done the work. */
  onError(kind: UpstreamErrorKind, message: string): void;
}

/** connect: no connection (DNS, refused, TLS, connect timeout). reset: lost after the request was sent. protocol: not HTTP. */
export type UpstreamErrorKind = "connect" | "connect_timeout" | "reset" | "protocol";

/** A running upstream call. */
export interface UpstreamCall {
  /** Ends the call and closes its connection; no sink method is called afterwards. */
  abort(): void;
  /** Stops reading from the socket (back-pressure). */
  pause(): void;
  resume(): void;
}

/** The gateway's only way out. A simulation puts its own in its place. */
export interface Transport {
  send(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall;
  /** Forgets pools whose key is not in `keep`, once they are idle. */
  retain(keep: ReadonlySet<string>): void;
  close(): Promise<void>;
}
