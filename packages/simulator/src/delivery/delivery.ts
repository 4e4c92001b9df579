/** A stretch of a body, sent `waitMs` after the one before it. */
export interface Piece {
  readonly data: string | Uint8Array;
  readonly waitMs: number;
  /** Billed output once the piece exists, reasoning included; absent = no change. */
  readonly output?: number;
  readonly reasoning?: number;
  readonly reportsUsage?: boolean;
}

/**
 * What happens after the last piece: the body ends, nothing more comes, TCP reset, or the connection ends
 * without ending the body.
 */
export type Ending = "end" | "stall" | "reset" | "fin";

/** One HTTP answer, ready to be sent. */
export interface Delivery {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** True: not even the headers are sent before the ending. */
  readonly silent: boolean;
  readonly headWaitMs: number;
  readonly pieces: Iterable<Piece>;
  readonly ending: Ending;
  /** The pieces are the whole answer as it was meant. */
  readonly whole: boolean;
  /** Body bytes are written in pieces of this size; 0 = as they come. */
  readonly chunkBytes: number;
  readonly gzip: boolean;
  /** While waiting, `keepalive` is sent this often; 0 = never. */
  readonly keepaliveMs: number;
  readonly keepalive: string;
}

/** A delivery with the given parts and nothing unusual. Field by field: spreading is slow, and this is hot. */
export function delivery(given: Pick<Delivery, "status" | "headers" | "pieces"> & Partial<Delivery>): Delivery {
  return {
    status: given.status,
    headers: given.headers,
    silent: given.silent ?? false,
    headWaitMs: given.headWaitMs ?? 0,
    pieces: given.pieces,
    ending: given.ending ?? "end",
    whole: given.whole ?? true,
    chunkBytes: given.chunkBytes ?? 0,
    gzip: given.gzip ?? false,
    keepaliveMs: given.keepaliveMs ?? 0,
    keepalive: given.keepalive ?? "",
  };
}

/** A whole body at once, with its length. */
export function wholeBody(status: number, headers: Readonly<Record<string, string>>, body: string): Delivery {
  const sized = { ...headers, "content-length": String(Buffer.byteLength(body)) };
  return delivery({ status, headers: sized, pieces: [{ data: body, waitMs: 0 }] });
}
