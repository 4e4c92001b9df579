import type { KeyEntry, Snapshot } from "./config/snapshot.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { type Random, systemRandom } from "./core/random.ts";
import type { Transport } from "./core/transport.ts";
import { type ControlDoor, frontDoor, unparsedAnswer } from "./front-door.ts";
import { createHttpServer } from "./http/server.ts";
import { createTransport } from "./http/undici-transport.ts";
import { openKeys } from "./ledger/keys.ts";
import type { LedgerWriter } from "./ledger/ledger.ts";
import { ledgerPath, openLedger } from "./ledger/writer.ts";
import { listenNear } from "./listen-near.ts";
import { RetryBudget } from "./resilience/retry-budget.ts";
import { buildRuntime, poolsOf, simulatorOnDemand } from "./runtime.ts";
import { MemoryKeyRing } from "./stages/key-ring.ts";
import type { DataPlane } from "./stages/plane.ts";
import { RefusalMeter } from "./stages/refusals.ts";
import { type Log, silentLog } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";

/** Where a gateway stands in its life. */
export type Phase = "starting" | "ready" | "draining";

/** What a gateway is made from. Clock, randomness and transport can be put in, so that tests can drive them. */
export interface AppOptions {
  snapshot: Snapshot;
  dataDir: string;
  /** Keys besides the config's and the database's: the dev key of a start without a config. */
  extraKeys?: readonly KeyEntry[];
  log?: Log;
  clock?: Clock;
  random?: Random;
  transport?: Transport;
  /** Makes the control plane's side of the port; without one, its paths are 404. */
  control?: (seat: ControlSeat) => Promise<ClosableDoor>;
}

/** The control plane's door, with an end. */
export type ClosableDoor = ControlDoor & { close(): Promise<void> };

/** What the control plane is handed: it reads these, and changes nothing of the data plane. */
export interface ControlSeat {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  ledger: LedgerWriter;
  /** The ledger's database file. */
  databasePath: string;
  snapshot(): Snapshot;
  phase(): Phase;
}

/** A running gateway. */
export interface App {
  readonly url: string;
  readonly port: number;
  /** Swaps the config for new requests; running ones end on the old one. Throws, and changes nothing, when it cannot be built. */
  reconfigure(snapshot: Snapshot): Promise<void>;
  phase(): Phase;
  /** Readiness false → drain_delay → no new connections, running answers finish → ledger flushed → everything closed. */
  close(): Promise<void>;
}

/** Builds everything, listens, and returns when requests are served. This is the only place that constructs things. */
export async function startApp(options: AppOptions): Promise<App> {
  const { clock = systemClock, random = systemRandom(), log = silentLog, transport = createTransport() } = options;
  const closers: Closer[] = [() => transport.close()];
  try {
    const { path, fsync, spool } = options.snapshot.ledger;
    const ledger = openLedger({
      dataDir: options.dataDir,
      path,
      fsync,
      spool,
      clock,
      random,
      log: (level, message, facts) => log[level](message, facts),
    });
    closers.push(() => ledger.close());
    const databasePath = ledgerPath(options.dataDir, path);
    const keys = new MemoryKeyRing(openKeys({ path: databasePath, clock }), clock, (cause) =>
      log.warn("keys in the database cannot be read; those known stay", { cause }),
    );
    closers.push(() => keys.close());
    const simulatorUrl = simulatorOnDemand(closers);
    const now = {
      runtime: await buildRuntime(options.snapshot, clock, simulatorUrl),
      phase: "starting" as Phase,
      refusing: false,
    };
    const extraKeys = options.extraKeys ?? [];
    keys.setFixed([...options.snapshot.keys, ...extraKeys]);
    const metrics = createMetrics();
    const retryBudget = new RetryBudget(clock);
    const plane: DataPlane = {
      clock,
      random,
      transport,
      ledger,
      keys,
      retryBudget,
      refusals: new RefusalMeter(clock),
      log,
      metrics,
      runtime: () => now.runtime,
      draining: () => now.refusing,
    };
    const control = await openControl(options.control, {
      clock,
      log,
      metrics,
      ledger,
      databasePath,
      snapshot: () => now.runtime.snapshot,
      phase: () => now.phase,
    });
    closers.push(() => control.close());
    const server = createHttpServer(frontDoor(plane, control), unparsedAnswer);
    const { host } = options.snapshot.gateway.listen;
    const port = await listenNear(server, options.snapshot.gateway, log);
    now.phase = "ready";
    const drain = async (): Promise<void> => {
      now.phase = "draining";
      const { drainDelayMs, drainTimeoutMs } = now.runtime.snapshot.gateway;
      if (drainDelayMs > 0) await new Promise<void>((resolve) => void setTimeout(resolve, drainDelayMs));
      now.refusing = true;
      await server.drain(drainTimeoutMs);
      await ledger
        .drain(drainTimeoutMs)
        .catch((error: unknown) => log.error("rows stay in the spool until the next start", { cause: String(error) }));
      await closeAll(closers);
      log.flush();
    };
    let closing: Promise<void> | null = null;
    return {
      port,
      url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
      phase: () => now.phase,
      async reconfigure(snapshot) {
        now.runtime = await buildRuntime(snapshot, clock, simulatorUrl);
        keys.setFixed([...snapshot.keys, ...extraKeys]);
        const pools = poolsOf(snapshot);
        transport.retain(pools);
        retryBudget.retain(pools);
      },
      close: () => {
        closing ??= drain();
        return closing;
      },
    };
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

/** One thing's end. */
export type Closer = () => Promise<void> | void;

/** Closes in reverse order of construction; one that fails does not keep the others open. */
async function closeAll(closers: Closer[]): Promise<void> {
  for (const close of closers.splice(0).reverse()) {
    try {
      await close();
    } catch {
      // What cannot be closed is about to end with the process.
    }
  }
}

function openControl(make: AppOptions["control"], seat: ControlSeat): Promise<ClosableDoor> {
  return make ? make(seat) : Promise.resolve({ handles: () => false, handle: () => {}, close: async () => {} });
}
