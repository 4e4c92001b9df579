import type { CredentialUse } from "@sluicegate/contract";
import type { Deployment, ProviderConfig } from "../config/snapshot.ts";
import type { Call, Operation } from "../core/call.ts";
import type { UpstreamRequest } from "../core/transport.ts";
import type { Protocol, Quirks } from "../protocols/protocol.ts";

/** A provider ready to be called: WHOM we call. What is spoken is its protocol's business. */
export interface Provider {
  readonly config: ProviderConfig;
  readonly quirks: Quirks;
  readonly credential: CredentialUse | null;
  /** The protocol this provider speaks for an operation; null when it has no such endpoint. */
  speaks(operation: Operation): Protocol | null;
  /** The HTTP request that makes a call of a deployment. */
  request(wanted: Wanted): UpstreamRequest;
}

/** One call of one deployment, to be put into HTTP. */
export interface Wanted {
  call: Call;
  protocol: Protocol;
  deployment: Deployment;
  /** Key of the connection pool. */
  pool: string;
  /** The client's headers, asked only for those that go on. */
  header: (name: string) => string | undefined;
}

/** What a provider file is given to build from. */
export interface ProviderParts {
  config: ProviderConfig;
  baseUrl: string;
  quirks: Quirks;
  protocols: readonly Protocol[];
}

const USER_AGENT = "sluicegate";

/** A provider that takes JSON posts with a fixed credential header: everything static is made once, here. */
export function jsonProvider({ config, baseUrl, quirks, protocols }: ProviderParts): Provider {
  const url = new URL(baseUrl);
  const basePath = url.pathname.replace(/\/+$/, "");
  const headers = ["content-type", "application/json", "accept-encoding", "identity", "user-agent", USER_AGENT];
  if (config.apiKey) {
    const auth = config.auth ?? { header: "authorization", prefix: "Bearer " };
    headers.push(auth.header.toLowerCase(), auth.prefix + config.apiKey.reveal());
  }
  for (const [name, value] of Object.entries(config.headers)) headers.push(name.toLowerCase(), value.reveal());
  const tls = config.tls
    ? {
        ...(config.tls.ca !== undefined && { ca: config.tls.ca }),
        ...(config.tls.cert !== undefined && { cert: config.tls.cert }),
        ...(config.tls.key && { key: config.tls.key.reveal() }),
      }
    : null;
  return {
    config,
    quirks,
    credential: config.apiKey ? { name: config.name, generation: 1, owner: "shared" } : null,
    speaks: (operation) => protocols.find((protocol) => protocol.operation === operation) ?? null,
    request({ call, protocol, deployment, pool, header }) {
      return {
        origin: url.origin,
        method: "POST",
        path: basePath + protocol.upstreamPath + url.search,
        headers: withForwarded(headers, config.forwardHeaders, header),
        body: protocol.passRequest(call, deployment.model, quirks),
        connectTimeoutMs: deployment.timeouts.connectMs,
        pool: {
          key: pool,
          connections: config.connections,
          ...(tls && { tls }),
          ...(config.proxy && { proxy: config.proxy }),
        },
      };
    },
  };
}

function withForwarded(
  fixed: string[],
  names: readonly string[],
  header: (name: string) => string | undefined,
): string[] {
  if (names.length === 0) return fixed;
  const all = [...fixed];
  for (const name of names) {
    const value = header(name);
    if (value !== undefined) all.push(name, value);
  }
  return all;
}
