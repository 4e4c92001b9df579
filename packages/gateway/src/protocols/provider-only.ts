import { EVENT_STREAM, type Protocol } from "./protocol.ts";

const NOTHING = Buffer.alloc(0);

/** The client's door of a protocol that only providers speak: no path leads to it. */
export const NO_CLIENTS = {
  clientPaths: [],
  decodeRequest: refuse,
  encodeError: refuse,
  encodeStreamError: refuse,
  streamShape: () => ({ contentType: EVENT_STREAM, keepalive: NOTHING }),
  terminator: NOTHING,
  endWithMetadata: () => NOTHING,
  decorateReply: () => null,
  passRequest: refuse,
} satisfies Partial<Protocol>;

/** The same of its translation: only towards it is translated. */
export const NO_CLIENT_TRANSLATION = {
  fieldNames: {},
  toCanonical: refuse,
  encodeReply: refuse,
  streamWriter: refuse,
};

/** Stands for what is never asked of such a protocol. */
export function refuse(): never {
  throw new Error("no client speaks this protocol");
}
