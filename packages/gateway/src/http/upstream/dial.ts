import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext } from "node:tls";
import type { UpstreamTls } from "../../core/transport.ts";

/** When TCP begins to ask whether the other side is still there: answers that think for minutes say nothing meanwhile. */
const KEEP_ALIVE_PROBE_MS = 60_000;

/** Opens sockets to one origin. */
export interface Dialer {
  /** The event that says that a socket can be written to. */
  ready: "connect" | "secureConnect";
  open(): Socket;
}

/** The way to an origin. Throws for TLS material that is none; it is read once, not for every connection. */
export function dialer(origin: URL, tls: UpstreamTls | undefined): Dialer {
  const host = origin.hostname.replace(/^\[|\]$/g, "");
  const secure = origin.protocol === "https:";
  const port = origin.port === "" ? (secure ? 443 : 80) : Number(origin.port);
  const common = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS };
  if (!secure) return { ready: "connect", open: () => connectTcp(common) };
  const options = {
    ...common,
    secureContext: createSecureContext(tls),
    ALPNProtocols: ["http/1.1"],
    // Names only: an address has no place in SNI (RFC 6066).
    ...(isIP(host) === 0 && { servername: host }),
  };
  return { ready: "secureConnect", open: () => connectTls(options) };
}
