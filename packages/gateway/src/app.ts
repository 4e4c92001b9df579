import { type DeploymentSeat, deploymentSeat } from "./admin/deployment-seat.ts";
import type { RoutingSeat } from "./admin/parts.ts";
import { AlertDesk } from "./alerts/desk.ts";
import { buildCalm, type Calm, type MakeHealth } from "./build-calm.ts";
import type { Environment } from "./config/env.ts";
import type { KeyEntry, ProviderConfig, Snapshot } from "./config/snapshot.ts";
import { Cancel } from "./core/cancel.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { newId } from "./core/ids.ts";
import { LIMITS, type Waits } from "./core/limits.ts";
import { type Random, systemRandom } from "./core/random.ts";
import type { Transport } from "./core/transport.ts";
import { FlagReader } from "./flags/flag-reader.ts";
import { type ControlDoor, frontDoor, unparsedAnswer } from "./front-door.ts";
import { createHttpServer, type HttpServer } from "./http/server.ts";
import { createTransport } from "./http/upstream/transport.ts";
import { deploymentUsers } from "./ledger/deployment-users.ts";
import { FeedbackDesk } from "./ledger/feedback-desk.ts";
import { openKeys } from "./ledger/keys.ts";
import type { LedgerWriter } from "./ledger/ledger.ts";
import { openLedgerReaderThread } from "./ledger/reader-thread.ts";
import { ledgerPath, openLedger } from "./ledger/writer.ts";
import { listenNear } from "./listen-near.ts";
import type { ProbeStanding } from "./probes/probe-loops.ts";
import { type ProbeListener, Prober } from "./probes/prober.ts";
import { buildProvider } from "./providers/build.ts";
import type { CredentialEvent } from "./providers/credential-ring.ts";
import { providerMeans } from "./providers/means.ts";
import { ProviderRings } from "./providers/provider-rings.ts";
import { buildRuntime, poolsOf, type RuntimeParts, simulatorOnDemand } from "./runtime.ts";
import { sampleLoop } from "./sample-loop.ts";
import { tryCredential } from "./stages/credential-trial.ts";
import { MemoryKeyRing } from "./stages/key-ring.ts";
import type { DataPlane, Runtime } from "./stages/plane.ts";
import { RefusalMeter } from "./stages/refusals.ts";
import { openState } from "./state/open-state.ts";
import { type Log, silentLog } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { openTokenCounter } from "./tokens/token-counter.ts";

/** How long the requests that were cut off at the end may take to be settled, and how often they are looked for. */
const SETTLE_MS_MAX = 5_000;
const SETTLE_LOOK_MS = 5;

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
  /** Times that a test shortens. */
  waits?: Partial<Waits> | undefined;
  /** What feature flags are read from; absent: none are set. */
  environment?: Pick<Environment, "get">;
  /** Name of the environment the gateway was started for. */
  environmentName?: string | null;
  /** False: no load is turned away. */
  sheds?: boolean | undefined;
  /** Another board of health, for a test. */
  makeHealth?: MakeHealth | undefined;
  /** Reads anew what a provider's secrets come from; whatever is new has reached `reconfigure` when it resolves. */
  refetchSecrets?: (config: ProviderConfig) => Promise<void>;
  /** A provider has refused a new credential, and the old one serves on. Called once for each. */
  credentialRefused?: (event: CredentialEvent) => void;
  /** Told of every readiness probe that came to an end. */
  onProbe?: ProbeListener;
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
  /** False while a provider refuses the newest credential that is known for it. */
  credentialsAccepted(): boolean;
  /** How the deployments that are probed for readiness stand, by name. */
  probes(): ReadonlyMap<string, ProbeStanding>;
  /** The deployments and their circuits, which may be set by hand. */
  deployments: DeploymentSeat;
  /** What decisions are taken with. */
  routing: Pick<RoutingSeat, "runtime" | "health" | "key">;
  /** Where what replicas share is kept. */
  store(): { kind: string; state: "ok" | "degraded" | "down" };
  /** Requests that wait for a place at a deployment. */
  queueDepth(): number;
  /** Tokens of ceilings that running calls have reserved. */
  reservedTokens(): number;
}

/** A running gateway. */
export interface App {
  readonly url: string;
  readonly port: number;
  /** Swaps the config for new requests; running ones end on the old one. Throws, and changes nothing, when it cannot be built. */
  reconfigure(snapshot: Snapshot): Promise<void>;
  phase(): Phase;
  /** Resolves when every config that was asked for until now has been taken up, or given up. */
  settled(): Promise<void>;
  /** Readiness false → drain_delay → no new connections, running answers finish → ledger flushed → everything closed. */
  close(): Promise<void>;
}

/** Builds everything, listens, and returns when requests are served. This is the only place that constructs things. */
export async function startApp(options: AppOptions): Promise<App> {
  const closers: Closer[] = [];
  try {
    const parts = await construct(options, closers);
    const port = await listenNear(parts.server, options.snapshot.gateway, parts.plane.log);
    parts.state.phase = "ready";
    parts.prober.follow();
    return appOf(parts, port, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

/** What changes while a gateway runs. */
interface State {
  runtime: Runtime;
  phase: Phase;
  /** New requests are turned away. */
  refusing: boolean;
}

interface Parts {
  plane: DataPlane;
  calm: Calm;
  flags: FlagReader;
  alerts: AlertDesk;
  keys: MemoryKeyRing;
  prober: Prober;
  server: HttpServer;
  state: State;
  extraKeys: readonly KeyEntry[];
  runtimeParts: RuntimeParts;
}

/** From the bottom up; each thing that has to be closed adds itself to `closers`. */
async function construct(options: AppOptions, closers: Closer[]): Promise<Parts> {
  const { clock = systemClock, random = systemRandom(), log = silentLog } = options;
  const { transport = createTransport(clock) } = options;
  const waits: Waits = { ...LIMITS, ...options.waits };
  const { snapshot, dataDir, extraKeys = [] } = options;
  closers.push(() => transport.close());
  const { path, fsync, spool } = snapshot.ledger;
  const ledger = openLedger({
    ...{ dataDir, path, fsync, spool, clock, random },
    log: (level, message, facts) => log[level](message, facts),
  });
  closers.push(() => ledger.close());
  const databasePath = ledgerPath(dataDir, path);
  const feedback = new FeedbackDesk({ ledger, reader: openLedgerReaderThread(databasePath), clock });
  closers.push(() => feedback.close());
  const keys = new MemoryKeyRing(openKeys({ path: databasePath, clock }), clock, (cause) =>
    log.warn("keys in the database cannot be read; those known stay", { cause }),
  );
  closers.push(() => keys.close());
  keys.setFixed([...snapshot.keys, ...extraKeys]);
  const tokens = openTokenCounter();
  closers.push(() => tokens.close());
  const simulatorUrl = simulatorOnDemand(closers);
  const means = providerMeans(clock, transport);
  const metrics = createMetrics();
  const usersOf = (names: readonly string[]) => deploymentUsers(databasePath, clock, names);
  const alerts = new AlertDesk({ clock, random, transport, log, usersOf }, snapshot);
  closers.push(() => alerts.close());
  const sharedState = await openState(snapshot.state, { clock, random, log, patienceMs: waits.storeAnswerMs });
  const calm = buildCalm({ clock, random, state: sharedState, makeHealth: options.makeHealth });
  closers.push(() => calm.close());
  if (options.sheds !== false) closers.push(sampleLoop(clock, (delayMs) => calm.shedder.sample(delayMs)));
  calm.follow(snapshot);
  calm.health.onEvent((event) => alerts.onBreakerEvent(event));
  const rings = new ProviderRings({
    ...{ clock, random },
    build: (config) => buildProvider(config, means),
    tryOut: (provider, tenant) => tryCredential(plane, provider, tenant),
    refetch: async (config) => options.refetchSecrets?.(config),
    told: (event) =>
      credentialNews({ log, metrics, alerts, calm, credentialRefused: options.credentialRefused }, event),
  });
  closers.push(() => rings.close());
  const environment = options.environment ?? { get: () => undefined };
  const flags = new FlagReader({ clock, environment, log, domain: newId("flags", clock, random) });
  closers.push(() => flags.close());
  flags.follow(snapshot.flags);
  const runtimeParts: RuntimeParts = { clock, simulatorUrl, rings };
  const state: State = { runtime: await buildRuntime(snapshot, runtimeParts), phase: "starting", refusing: false };
  const plane: DataPlane = {
    ...{ clock, random, transport, ledger, feedback, alerts, keys, tokens, log, metrics, waits },
    ...calm,
    ...{ flags, environment: options.environmentName ?? null },
    refusals: new RefusalMeter(clock, (row) => ledger.record(row), waits.refusalWindowMs),
    runtime: () => state.runtime,
    draining: () => state.refusing,
    ending: new Cancel(),
  };
  const prober = new Prober(plane, options.onProbe);
  const seat = seatOf({ plane, calm, keys, prober, rings, state, databasePath });
  const control = await openControl(options.control, seat);
  closers.push(() => control.close());
  const server = createHttpServer(frontDoor(plane, control), unparsedAnswer, waits);
  return { plane, calm, flags, alerts, keys, prober, server, state, extraKeys, runtimeParts };
}

interface SeatParts extends Pick<Parts, "plane" | "calm" | "keys" | "prober" | "state"> {
  rings: ProviderRings;
  databasePath: string;
}

function seatOf({ plane, calm, keys, prober, rings, state, databasePath }: SeatParts): ControlSeat {
  const { clock, log, metrics, ledger } = plane;
  const snapshot = (): Snapshot => state.runtime.snapshot;
  return {
    ...{ clock, log, metrics, ledger, databasePath, snapshot },
    phase: () => state.phase,
    credentialsAccepted: () => rings.whole,
    probes: () => prober.standings(),
    deployments: deploymentSeat({
      board: calm.health,
      snapshot,
      ceilings: (deployment) => state.runtime.ceilings(deployment, null),
      used: (ceiling) => calm.state.used(ceiling),
    }),
    routing: {
      runtime: () => state.runtime,
      health: (key) => calm.health.read(key),
      key: (id) => keys.named(id),
    },
    store: () => ({ kind: calm.state.kind, state: calm.state.standing() }),
    queueDepth: () => calm.rooms.waiting,
    reservedTokens: () => calm.state.reservedTokens(),
  };
}

function appOf(parts: Parts, port: number, closers: Closer[]): App {
  const { plane, state } = parts;
  const { host } = state.runtime.snapshot.gateway.listen;
  let closing: Promise<void> | null = null;
  let turn: Promise<void> = Promise.resolve();
  const swap = async (snapshot: Snapshot): Promise<void> => {
    state.runtime = await buildRuntime(snapshot, parts.runtimeParts);
    parts.keys.setFixed([...snapshot.keys, ...parts.extraKeys]);
    const pools = poolsOf(snapshot);
    plane.transport.retain(pools);
    parts.calm.follow(snapshot);
    parts.flags.follow(snapshot.flags);
    parts.alerts.follow(snapshot);
    parts.prober.follow();
  };
  return {
    port,
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    phase: () => state.phase,
    settled: () => turn,
    reconfigure(snapshot) {
      // One after the other: the last one asked for is the one that stays.
      const done = turn.then(() => swap(snapshot));
      turn = done.catch(() => {});
      return done;
    },
    close: () => {
      closing ??= shutDown(parts, closers);
      return closing;
    },
  };
}

async function shutDown({ plane, prober, server, state }: Parts, closers: Closer[]): Promise<void> {
  state.phase = "draining";
  const probed = prober.close();
  server.windDown();
  const { drainDelayMs, drainTimeoutMs } = state.runtime.snapshot.gateway;
  if (drainDelayMs > 0) await new Promise<void>((resolve) => void setTimeout(resolve, drainDelayMs));
  state.refusing = true;
  const drainedBy = plane.clock.monotonic() + drainTimeoutMs;
  await server.drain(drainTimeoutMs);
  // Calls whose clients have gone hold no connection: they have what is left of the time, and are ended then.
  await allSettled(plane, drainedBy - plane.clock.monotonic());
  plane.ending.cancel("shutdown");
  await allSettled(plane, SETTLE_MS_MAX);
  await probed;
  const { ledger, log } = plane;
  plane.refusals.close();
  await ledger
    .drain(drainTimeoutMs)
    .catch((error: unknown) => log.error("rows stay in the spool until the next start", { cause: String(error) }));
  await closeAll(closers);
  log.flush();
}

/** What was cut off learns of it, and is settled, a moment after the server has let go of its connection. */
async function allSettled({ metrics }: DataPlane, timeoutMs: number): Promise<void> {
  for (let waited = 0; waited < timeoutMs && metrics.read().inFlight > 0; waited += SETTLE_LOOK_MS)
    await new Promise<void>((resolve) => void setTimeout(resolve, SETTLE_LOOK_MS));
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

interface NewsDesk {
  calm: Calm;
  log: Log;
  metrics: Metrics;
  alerts: AlertDesk;
  credentialRefused: AppOptions["credentialRefused"];
}

/** A credential was rotated, or its successor refused: for the log, the metrics, and whoever sends alerts. */
function credentialNews({ log, metrics, alerts, calm, credentialRefused }: NewsDesk, event: CredentialEvent): void {
  const { kind, provider, tenant, generation } = event;
  metrics.credential(provider, kind);
  alerts.onCredential(event);
  const facts = { provider, generation, ...(tenant !== null && { tenant }) };
  if (kind === "rotated") {
    calm.credentialChanged(provider, tenant);
    return log.info("a new credential is in use", facts);
  }
  log.error("the provider refuses the new credential; the old one stays in use", facts);
  credentialRefused?.(event);
}

function openControl(make: AppOptions["control"], seat: ControlSeat): Promise<ClosableDoor> {
  return make ? make(seat) : Promise.resolve({ handles: () => false, handle: () => {}, close: async () => {} });
}
