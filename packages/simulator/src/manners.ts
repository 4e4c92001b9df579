import type { Headers } from "./delivery/failure.ts";
import type { Exchange } from "./exchange.ts";
import type { Problem } from "./models/problem.ts";
import type { Limits } from "./turns.ts";

/** How the events of a stream are put on the wire: server-sent events ended by LF or CRLF, one JSON array, or AWS frames. */
export type StreamFraming = "lf" | "crlf" | "array" | "frames";

/** What a vendor does alike at all of its endpoints, whatever is asked there. */
export interface Manners {
  /** Throws the problem of a call with a bad key, or with none where one is required; undefined = the vendor's way. */
  checkKey(exchange: Exchange, required: boolean | undefined): void;
  /** The headers every answer carries. */
  headers(exchange: Exchange): Headers;
  /** The headers that tell what is left of the limits. */
  limitHeaders(limits: Limits): Headers;
  /** Status and headers of an error answer; `headers` are those it has so far, the problem's own included. */
  errorHead(problem: Problem, headers: Headers): { readonly status: number; readonly headers: Headers };
  /** What is said to a body that is no JSON object, and to one that names no model. */
  readonly unreadable: Problem;
  readonly modelless: Problem;
  readonly jsonType: string;
  readonly streamType: string;
  readonly framing: StreamFraming;
  /** What says within a stream that the peer is still there. */
  readonly keepalive: string;
  /** The events of a stream have an `event:` line with the `type` of their payload. */
  readonly namedEvents: boolean;
}
