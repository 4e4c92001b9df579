import type { ErrorClass } from "@sluicegate/contract";
import type { FastifyInstance } from "fastify";
import type { ProbeStanding } from "../probes/probe-loops.ts";
import type { ControlParts } from "./parts.ts";

/** GET /v1/health. */
export interface Health {
  status: "ok" | "degraded" | "draining";
  version: string;
  region: string | null;
  uptime_s: number;
  store: { kind: string; state: "ok" | "degraded" | "down" };
  ledger: { kind: string; state: "ok" | "degraded" | "down"; spooled_rows: number };
  secrets: { state: "ok" | "degraded"; oldest_refresh_s: number };
  config: { revision: string; loaded_at: string; state: "ok" | "last_good" };
  deployments: { name: string; circuit: "closed" | "open" | "half_open"; probe?: ProbeHealth }[];
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
  const { deployments, gateway } = parts.snapshot();
  const probes = parts.probes();
  const intact = ledger === "ok" && config.state === "ok" && secrets.state === "ok";
  const whole = phase === "ready" && intact && parts.ledger.accepting();
  return {
    status: phase === "draining" ? "draining" : whole ? "ok" : "degraded",
    version: parts.version,
    region: gateway.region,
    uptime_s: seconds(now - parts.startedAt),
    store: { kind: "memory", state: "ok" },
    ledger: { kind: "sqlite", state: ledger, spooled_rows: parts.ledger.spooledRows() },
    // Those of variables and files are as old as the config that was read with them.
    secrets: { state: secrets.state, oldest_refresh_s: seconds(now - (secrets.oldestReadAt ?? config.loadedAt)) },
    config: { revision: config.revision, loaded_at: new Date(config.loadedAt).toISOString(), state: config.state },
    deployments: [...deployments.keys()].map((name) => ({
      ...{ name, circuit: "closed" as const },
      ...probeHealth(probes.get(name)),
    })),
    open_circuits: 0,
  };
}

/** GET /healthz, /readyz and /v1/health, open to all. */
export function healthRoutes(app: FastifyInstance, parts: ControlParts): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const { ledger, config, secrets } = healthOf(parts);
    const phase = parts.phase();
    // What is degraded is told, and is no reason to send the traffic elsewhere.
    const states = Object.entries({ ledger, config, secrets });
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
