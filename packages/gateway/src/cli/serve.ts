import { ConfigRefused } from "../config/config-store.ts";
import { readEnvironment } from "../config/env.ts";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { type Gateway, startGateway } from "../start-gateway.ts";
import { createLog } from "../telemetry/log.ts";
import { banner } from "./banner.ts";
import { suitBuffers, suitCollector } from "./collector.ts";

/** Flags of `sluicegate serve`. */
export interface ServeOptions {
  config?: string;
  env?: string;
  port?: number;
  host?: string;
  dataDir?: string;
  allowMissingSecrets?: boolean;
}

/**
 * Serves until SIGTERM or SIGINT, which drain; a second one ends at once. SIGHUP reads the config again.
 * Exit code 1, with the whole report on stderr, for a config that cannot be served.
 */
export async function runServe(options: ServeOptions): Promise<void> {
  suitCollector();
  suitBuffers();
  // A reader that leaves, or a full disk, ends a command that prints. It must not end what serves.
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error").on("error", () => {});
  const log = createLog({ fd: 1, level: "info", access: true });
  let gateway: Gateway;
  try {
    gateway = await startGateway({
      ...options,
      environment: readEnvironment(),
      clock: systemClock,
      random: systemRandom(),
      log,
    });
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigRefused ? error.message : `sluicegate: ${wordsOf(error)}`}\n`);
    process.exitCode = 1;
    return;
  }
  // Before it says that it serves: who reads that may send a signal at once.
  onSignals(gateway);
  process.stdout.write(banner(gateway, options));
}

function onSignals(gateway: Gateway): void {
  process.on("SIGHUP", () => void gateway.reload());
  let asked = false;
  const stop = (): void => {
    if (asked) process.exit(1);
    asked = true;
    process.stderr.write("sluicegate: finishing what is running; a second signal ends at once\n");
    void gateway.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return `${error.message}; choose another --port`;
  return error.message;
}
