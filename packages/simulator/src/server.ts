import { createServer, type Server } from "node:http";
import type { InvoiceReport } from "./records/invoice.ts";
import type { RequestReport } from "./records/requests.ts";
import { route } from "./router.ts";
import type { ScriptRule } from "./script/rule.ts";
import { type SimulatorOptions, State } from "./state.ts";

/** A running simulator. */
export interface Simulator {
  /** `http://127.0.0.1:PORT`, without `/v1`. */
  readonly url: string;
  readonly port: number;
  /** What it has billed. */
  invoice(): InvoiceReport;
  /** How often it was called, by model, and the latest calls. */
  requests(): RequestReport;
  /** Adds rules that answer before the models do; throws ScriptError for a bad one. */
  script(rules: ScriptRule | readonly ScriptRule[]): void;
  /** Forgets calls, bills, rules and the counters of `times`, `every`, `rpm` and `tpm`. */
  reset(): void;
  /** Stops listening and ends open connections. May be called again. */
  close(): Promise<void>;
}

/** Starts a simulator; rejects when the port cannot be had. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const state = new State(options);
  const host = options.host ?? "127.0.0.1";
  const server = createServer(
    { noDelay: true, keepAlive: true, maxHeaderSize: 64 * 1024, highWaterMark: 64 * 1024 },
    (req, res) => route(state, req, res),
  );
  // Idle connections of a pool must not be cut while a peer is about to use them.
  server.keepAliveTimeout = 10 * 60_000;
  const port = await listen(server, options.port ?? 0, host);
  // An accept that fails (out of file descriptors, say) costs that connection only.
  server.on("error", () => undefined);
  let closed: Promise<void> | undefined;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    invoice: () => state.invoice.report(),
    requests: () => state.requests.report(),
    script: (rules) => {
      state.script.add(rules);
    },
    reset: () => state.reset(),
    close: () => {
      state.closing = true;
      closed ??= stop(server);
      return closed;
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: 4096 }, () => {
      server.removeListener("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
