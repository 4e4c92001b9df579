import { GatewayError } from "../core/errors.ts";

/** Where a page ended: the next one begins after it. */
export interface PageEnd {
  startedAtMs: number;
  requestId: string;
}

/** A page's end as the opaque text a client sends back. */
export function encodeCursor({ startedAtMs, requestId }: PageEnd): string {
  return Buffer.from(`${startedAtMs} ${requestId}`).toString("base64url");
}

/** Throws GatewayError invalid_request for a text that is no cursor. */
export function decodeCursor(cursor: string): PageEnd {
  const parts = /^(\d{1,16}) (\S{1,200})$/.exec(Buffer.from(cursor, "base64url").toString());
  if (!parts?.[1] || !parts[2]) {
    throw new GatewayError("invalid_request", "cursor is not one that this list has given out", { param: "cursor" });
  }
  return { startedAtMs: Number(parts[1]), requestId: parts[2] };
}
