import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import type { UpstreamTls } from "../../core/transport.ts";

/** When TCP begins to ask whether the other side is still there: answers that think for minutes say nothing meanwhile. */
const KEEP_ALIVE_PROBE_MS = 60_000;

/**
 * Room for one read. A buffer made for every read is 64 KiB that is cut down to what came, and dearer than the read. What one
 * read brings is worked on whole, also for a client that is behind: in another dialect small events grow to five times as much.
 */
const READ_BYTES = 32 * 1024;

/** Opens sockets to one origin. */
export interface Dialer {
  /** The event that says that a socket can be written to. */
  ready: "connect" | "secureConnect";
  /** A socket without "data" events. */
  open(onBytes: OnBytes): Socket;
}

/** Is lent what was read, until it returns: the first `length` of `bytes`. */
export type OnBytes = (bytes: Buffer, length: number) => void;

/** The way to an origin. Throws for TLS material that is none; it is read once, not for every connection. */
export function dialer(origin: URL, tls: UpstreamTls | undefined): Dialer {
  const host = origin.hostname.replace(/^\[|\]$/g, "");
  const secure = origin.protocol === "https:";
  const port = origin.port === "" ? (secure ? 443 : 80) : Number(origin.port);
  const common = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS };
  // Every socket of the origin reads into it, one at a time: who keeps what was read copies it before the next one can.
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  const reading = (onBytes: OnBytes): { onread: OnReadOpts } => ({
    onread: {
      buffer,
      callback: (count) => {
        onBytes(buffer, count);
        return true;
      },
    },
  });
  if (!secure) return { ready: "connect", open: (onBytes) => connectTcp({ ...common, ...reading(onBytes) }) };
  const options = {
    ...common,
    secureContext: createSecureContext(tls),
    ALPNProtocols: ["http/1.1"],
    // Names only: an address has no place in SNI (RFC 6066).
    ...(isIP(host) === 0 && { servername: host }),
  };
  return { ready: "secureConnect", open: (onBytes) => connectTls({ ...options, ...reading(onBytes) }) };
}
