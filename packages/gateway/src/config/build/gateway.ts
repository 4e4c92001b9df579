import { isAbsolute, resolve } from "node:path";
import type { Path, Problems } from "../problems.ts";
import type { GatewayInput, LedgerInput } from "../schema/gateway.ts";
import type { GatewayConfig, LedgerConfig } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { isLoopback } from "./base-url.ts";
import { type Entry, errorIn } from "./entry.ts";
import { gateOf } from "./gate.ts";

/** What the command line or SLUICEGATE_PORT say about where to listen. */
export interface ListenOverrides {
  port?: number;
  host?: string;
}

/** `gateway` ready for use. A port that the user named, here or there, is not given up when it is taken. */
export function buildGateway(
  entry: Entry<GatewayInput>,
  input: GatewayInput,
  overrides: ListenOverrides,
  problems: Problems,
): GatewayConfig {
  const listen = readListen(input.listen);
  if (!listen) {
    const message = `\`${shownListen(entry, input)}\` is not host:port, as in \`127.0.0.1:8080\``;
    errorIn(entry, ["listen"], message, problems);
  }
  return {
    listen: { host: overrides.host ?? listen?.host ?? "127.0.0.1", port: overrides.port ?? listen?.port ?? 8080 },
    portFixed: overrides.port !== undefined || nodeAt(entry.node, ["listen"]) !== undefined,
    region: input.region ?? null,
    bodyLimitBytes: input.body_limit,
    drainDelayMs: input.drain_delay,
    drainTimeoutMs: input.drain_timeout,
    secretRefreshMs: input.secret_refresh,
    expose: input.expose,
    strictPins: input.strict_pins,
    gate: input.gate ? gateOf(entry, input.gate, problems) : null,
  };
}

/** Whoever listens beyond loopback must have said who may come in. */
export function checkBind(
  entry: Entry<GatewayInput>,
  gateway: GatewayConfig,
  hasKeys: boolean,
  problems: Problems,
): void {
  const { host } = gateway.listen;
  if (isLoopback(host) || hasKeys) return;
  const message = `listening on ${host}, which other machines reach, needs \`keys\`, or \`tenants\` whose keys you make with \`sluicegate keys create\``;
  const below: Path = nodeAt(entry.node, ["listen"]) ? ["listen"] : [];
  errorIn(entry, below, message, problems);
}

/** `ledger` ready for use; a relative path starts from the config file's folder. */
export function buildLedger(
  entry: Entry<LedgerInput>,
  input: LedgerInput,
  baseDir: string,
  problems: Problems,
): LedgerConfig {
  return {
    path: ledgerPath(entry, input.url, baseDir, problems),
    fsync: input.fsync,
    spool: { maxBytes: input.spool.max, onFull: input.spool.on_full },
  };
}

function ledgerPath(entry: Entry<LedgerInput>, url: string, baseDir: string, problems: Problems): string | null {
  if (/^postgres(ql)?:/.test(url)) {
    errorIn(
      entry,
      ["url"],
      "this build does not implement PostgreSQL ledgers; use `sqlite:` or `sqlite:PATH`",
      problems,
    );
    return null;
  }
  const path = url.startsWith("sqlite:") ? url.slice("sqlite:".length) : null;
  if (path === null || path.startsWith(":") || path.startsWith("//") || path.includes("\0")) {
    errorIn(
      entry,
      ["url"],
      "`url` is not a ledger: write `sqlite:` (a file in the data dir) or `sqlite:PATH`",
      problems,
    );
    return null;
  }
  if (path === "") return null;
  return isAbsolute(path) ? path : resolve(baseDir, path);
}

/** host:port with the host a name, an IPv4 address or an IPv6 one in brackets. */
function readListen(written: string): { host: string; port: number } | null {
  const match = /^(\[([0-9a-fA-F:.]+)\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(written);
  const port = Number(match?.[3]);
  const host = match?.[2] ?? match?.[1];
  return host === undefined || !(port <= 65_535) ? null : { host, port };
}

function shownListen(entry: Entry<GatewayInput>, input: GatewayInput): string {
  const node = nodeAt(entry.node, ["listen"]);
  return node?.kind === "scalar" ? node.raw : input.listen;
}
