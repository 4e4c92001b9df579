import type { ErrorClass } from "@sluicegate/contract";
import type { FastifyInstance } from "fastify";
import type { Circuit } from "../core/health.ts";
import type { ProbeStanding } from "../probes/probe-loops.ts";
import type { ControlParts, StoreState } from "./parts.ts";

/** GET /v1/health. */
export interface Health {
  status: "ok" | "degraded" | "draining";
  version: string;
  region: string | null;
  uptime_s: number;
  store: StoreState;
  ledger: { kind: string; state: "ok" | "degraded" | "down"; spooled_rows: number };
  secrets: { state: "ok" | "degraded"; oldest_refresh_s: number };
  config: { revision: string; loaded_at: string; state: "ok" | "last_good" };
  deployments: { name: string; circuit: Circuit; probe?: ProbeHealth }[];
  /** Circuits that are not closed. */
  open_circuits: number;
}

/** How a deployment answers its probes: there where its provider is probed. */
interface ProbeHealth {
  state: "unknown" | "ready" | "failing";
  since: string;
  last_error_class: ErrorClass | null;
  last_latency_ms: number | null;
}

/** How this gateway is, by what it knows of itself: no provider and no database is asked. */
export function healthOf(parts: ControlParts): Health {
  const now = parts.clock.now();
  const config = parts.configState();
  const ledger = parts.ledger.state();
  const secrets = parts.secrets();
  const phase = parts.phase();
  const { gateway } = parts.snapshot();
  const probes = parts.probes();
  const store = parts.store();
  const circuits = parts.deployments.circuits();
  const open = circuits.filter(({ circuit }) => circuit !== "closed").length;
  const states = [ledger, config.state, secrets.state, store.state];
  const whole = phase === "ready" && open === 0 && states.every((state) => state === "ok") && parts.ledger.accepting();
  return {
    status: phase === "draining" ? "draining" : whole ? "ok" : "degraded",
    version: parts.version,
    region: gateway.region,
    uptime_s: seconds(now - parts.startedAt),
    store,
    ledger: { kind: "sqlite", state: ledger, spooled_rows: parts.ledger.spooledRows() },
    // Those of variables and files are as old as the config that was read with them.
    secrets: { state: secrets.state, oldest_refresh_s: seconds(now - (secrets.oldestReadAt ?? config.loadedAt)) },
    config: { revision: config.revision, loaded_at: new Date(config.loadedAt).toISOString(), state: config.state },
    deployments: circuits.map(({ name, circuit }) => ({ name, circuit, ...probeHealth(probes.get(name)) })),
    open_circuits: open,
  };
}

/** GET /healthz, /readyz and /v1/health, open to all. */
export function healthRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const { ledger, config, secrets, store, open_circuits } = healthOf(parts);
    const phase = parts.phase();
    // What is degraded is told, and is no reason to send the traffic elsewhere.
    const circuits = { state: open_circuits === 0 ? "ok" : "degraded" };
    const states = Object.entries({ ledger, config, secrets, store, circuits });
    const degraded = states.flatMap(([name, { state }]) => (state === "ok" ? [] : [name]));
    return reply.code(phase === "ready" ? 200 : 503).send({ status: phase, degraded });
  });
  app.get("/v1/health", async (_request, reply) => {
    const serves = parts.phase() === "ready" && parts.ledger.accepting();
    return reply.code(serves ? 200 : 503).send(healthOf(parts));
  });
}

function probeHealth(standing: ProbeStanding | undefined): { probe?: ProbeHealth } {
  if (!standing) return {};
  const { state, since, lastErrorClass, lastLatencyMs } = standing;
  return {
    probe: {
      state,
      since: new Date(since).toISOString(),
      last_error_class: lastErrorClass,
      last_latency_ms: lastLatencyMs,
    },
  };
}

function seconds(ms: number): number {
  return Math.max(0, Math.floor(ms / 1_000));
}
