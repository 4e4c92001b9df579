import type { Call } from "../../core/call.ts";

const VERSION = "2023-06-01";
const FORWARDED = ["anthropic-version", "anthropic-beta"] as const;
const NO_HEADERS: Readonly<Record<string, string>> = {};
const BETA = /(?:^|&)beta=true(?:&|$)/;

/** What of a client's headers means something in this dialect: version and betas, lower case. */
export function dialectHeaders(header: (name: string) => string | undefined): Readonly<Record<string, string>> {
  let found: Record<string, string> | null = null;
  for (const name of FORWARDED) {
    const value = header(name);
    if (value === undefined || value.trim() === "") continue;
    found ??= {};
    found[name] = value;
  }
  return found ?? NO_HEADERS;
}

/**
 * Headers of every call to a provider of this dialect, flat. A client that speaks it keeps its version and its betas, which
 * must travel with the body's fields that need them; a translated body is of the default version and needs none.
 */
export function upstreamHeaders(call: Call, sameDialect: boolean): string[] {
  if (!sameDialect) return ["anthropic-version", VERSION];
  const { "anthropic-version": version = VERSION, "anthropic-beta": betas } = call.dialectHeaders;
  return betas === undefined ? ["anthropic-version", version] : ["anthropic-version", version, "anthropic-beta", betas];
}

/** `path` with the mark that the beta SDKs put there, and nothing else of the client's query (it may hold a key). */
export function betaPath(path: string, call: Call): string {
  return call.dialect.startsWith("anthropic-") && BETA.test(call.path.query) ? `${path}?beta=true` : path;
}
