import type { Environment } from "../env.ts";
import { httpUrl, isLoopback } from "./base-url.ts";

/** The proxy that the environment wants for a base URL: HTTPS_PROXY for https, unless NO_PROXY names its host. */
export function proxyFromEnvironment(baseUrl: string, environment: Environment): string | null {
  const { protocol, hostname, port } = new URL(baseUrl);
  if (protocol !== "https:" || isLoopback(hostname)) return null;
  const proxy = variable(environment, "HTTPS_PROXY");
  if (proxy === undefined || "fault" in httpUrl(proxy)) return null;
  const exempt = (variable(environment, "NO_PROXY") ?? "")
    .split(/[\s,]+/)
    .some((rule) => isExempt(rule, hostname, port));
  return exempt ? null : proxy;
}

/** `*`, a host, a domain (with or without a leading dot or `*.`), each with an optional port. */
function isExempt(rule: string, hostname: string, port: string): boolean {
  const [, host, onlyPort] = /^(.+?)(?::(\d+))?$/.exec(rule.toLowerCase()) ?? [];
  if (host === undefined) return false;
  if (host === "*") return true;
  if (onlyPort !== undefined && onlyPort !== (port || "443")) return false;
  const domain = host.replace(/^\*?\./, "");
  return hostname === domain || hostname.endsWith(`.${domain}`);
}

function variable(environment: Environment, name: string): string | undefined {
  return environment.get(name) || environment.get(name.toLowerCase()) || undefined;
}
