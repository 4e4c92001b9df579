import { AlertDesk } from "../../src/alerts/desk.ts";
import { buildCalm, type Calm } from "../../src/build-calm.ts";
import type { Snapshot } from "../../src/config/snapshot.ts";
import { Cancel } from "../../src/core/cancel.ts";
import { LIMITS } from "../../src/core/limits.ts";
import { buildProvider } from "../../src/providers/build.ts";
import { providerMeans } from "../../src/providers/means.ts";
import { ProviderRings } from "../../src/providers/provider-rings.ts";
import { buildRuntime } from "../../src/runtime.ts";
import type { DataPlane } from "../../src/stages/plane.ts";
import { RefusalMeter } from "../../src/stages/refusals.ts";
import type { Log } from "../../src/telemetry/log.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import type { Chance } from "../core/chance.ts";
import type { Findings, Journal } from "../core/journal.ts";
import type { MachineClock } from "../core/world-clock.ts";
import type { ReplicaTransport } from "../upstream/upstreams.ts";
import type { VirtualLedger } from "./ledger.ts";
import type { VirtualStore } from "./store.ts";

/** What one replica's data plane stands on here. */
export interface PlaneParts {
  name: string;
  snapshot: Snapshot;
  clock: MachineClock;
  transport: ReplicaTransport;
  ledger: VirtualLedger;
  store: VirtualStore;
  chance: Chance;
  journal: Journal;
  findings: Findings;
}

/** A data plane and what ends it. */
export interface BuiltPlane {
  plane: DataPlane;
  calm: Calm;
  /** What is still counted or held when nobody asks for anything any more; empty: nothing is. */
  leftovers(): string[];
  close(): void;
}

/** The real data plane on virtual time, chance, connections and books. What app.ts does for a server. */
export async function buildPlane(parts: PlaneParts): Promise<BuiltPlane> {
  const { snapshot, clock, transport, ledger, chance, store } = parts;
  const means = providerMeans(clock, transport);
  const rings = new ProviderRings({
    ...{ clock, random: chance },
    build: (config) => buildProvider(config, means),
    tryOut: async () => "accepted",
    refetch: async () => {},
    told: () => {},
  });
  const simulatorUrl = (): Promise<string> => Promise.reject(new Error("no simulator in a simulation"));
  const runtime = await buildRuntime(snapshot, { clock, simulatorUrl, rings });
  const keys = new Map(snapshot.keys.map((key) => [key.hash, key]));
  const metrics = createMetrics();
  const calm = buildCalm({ clock, random: chance, state: store.stateFor(clock) });
  calm.follow(snapshot);
  const log = logOf(parts);
  // A desk looks at the calendar every day: only worlds with somebody to tell have one.
  const desk = snapshot.alerts.length > 0 ? new AlertDesk({ clock, random: chance, transport, log }, snapshot) : null;
  if (desk) calm.health.onEvent((event) => desk.onBreakerEvent(event));
  const plane: DataPlane = {
    ...{ clock, random: chance, transport, ledger, metrics, waits: LIMITS },
    ...calm,
    feedback: { leave: () => Promise.reject(new Error("nobody scores anything here")) },
    alerts: desk ?? { onDrift: () => {}, onMissingPrice: () => {} },
    flags: { read: () => ({}) },
    environment: null,
    keys: { find: (hash) => keys.get(hash) },
    tokens: { count: async (texts) => texts.join("").length >> 2, close: async () => {} },
    log,
    refusals: new RefusalMeter(clock, (row) => ledger.record(row)),
    runtime: () => runtime,
    draining: () => false,
    ending: new Cancel(),
  };
  return {
    plane,
    calm,
    leftovers() {
      const left: string[] = [];
      const { inFlight } = metrics.read();
      if (inFlight > 0) left.push(`${inFlight} requests in flight`);
      if (calm.rooms.waiting > 0) left.push(`${calm.rooms.waiting} in line for a place`);
      for (const deployment of snapshot.deployments.values())
        for (const ceiling of runtime.ceilings(deployment, null))
          if (calm.state.used(ceiling) > 0) left.push(`a share of ${ceiling.key}`);
      for (const key of calm.health.keys()) {
        const { inFlight: calls } = calm.health.read(key);
        if (calls > 0) left.push(`${calls} permits of ${key}`);
      }
      return left;
    },
    close() {
      desk?.close();
      calm.health.close();
      plane.refusals.close();
      rings.close();
    },
  };
}

/** A fault of the gateway's own is always a finding. */
function logOf({ name, journal, findings }: PlaneParts): Log {
  return {
    info: () => {},
    warn: (message) => journal.say(name, `warns: ${message}`),
    error: (message) => journal.say(name, `error: ${message}`),
    access: () => {},
    fault: (requestId, cause) =>
      findings.add(
        "no faults",
        `${requestId}: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`,
      ),
    flush: () => {},
  };
}
