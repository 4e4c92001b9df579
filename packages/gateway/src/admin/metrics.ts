import type { FastifyInstance } from "fastify";
import type { MetricsReading } from "../telemetry/metrics.ts";
import { authenticate, requireUnbound } from "./auth.ts";
import type { LoopDelay } from "./loop-delay.ts";
import type { ControlParts } from "./parts.ts";
import { type Family, prometheusText, type Sample } from "./prometheus-text.ts";

/** GET /metrics: the Prometheus scrape page, for any admin key that is bound to no tenant. */
export function metricsRoutes(app: FastifyInstance, parts: ControlParts, loopDelay: LoopDelay): void {
  app.get("/metrics", async (request, reply) => {
    requireUnbound(authenticate(parts.adminKeys(), request.headers.authorization));
    const families = [
      ...traffic(parts.metrics.read()),
      ...readiness(parts.probes()),
      circuits(parts.deployments.circuits()),
      ...gateway(parts, loopDelay),
    ];
    return reply.header("content-type", "text/plain; version=0.0.4; charset=utf-8").send(prometheusText(families));
  });
}

function traffic(reading: MetricsReading): Family[] {
  const counter = (name: string, help: string, samples: Sample[]): Family => ({ name, help, type: "counter", samples });
  return [
    counter("requests_total", "Requests that have ended, by how.", labelled("status", reading.byStatus)),
    counter(
      "attempts_total",
      "Calls to providers that failed, by deployment and class.",
      reading.attemptFailures.map(({ deployment, errorClass, count }) => ({
        labels: { deployment, error_class: errorClass },
        value: count,
      })),
    ),
    counter(
      "tokens_total",
      "Tokens used.",
      labelled("kind", { input: reading.inputTokens, output: reading.outputTokens }),
    ),
    counter("cost_usd_total", "What was used, in US dollars.", [{ value: reading.costMicroUsd / 1_000_000 }]),
    counter(
      "model_drifts_total",
      "Answers of another model than the deployment pins.",
      reading.drifts.map(({ deployment, count }) => ({ labels: { deployment }, value: count })),
    ),
    counter("failovers_total", "Requests that moved on to another deployment.", [{ value: reading.failovers }]),
    counter("retries_total", "Calls repeated to the same deployment.", [{ value: reading.retries }]),
    counter(
      "shadow_rules_total",
      "Requests that a rule of mode shadow would have decided.",
      reading.shadows.map(({ rule, count }) => ({ labels: { rule }, value: count })),
    ),
    counter("hedges_total", "Second calls begun beside one that took long.", [{ value: reading.hedges }]),
    counter(
      "credential_generations_total",
      "New credentials of providers, by what came of them.",
      reading.credentials.map(({ provider, result, count }) => ({ labels: { provider, result }, value: count })),
    ),
    overhead(reading.overhead),
    { name: "in_flight", help: "Requests running now.", type: "gauge", samples: [{ value: reading.inFlight }] },
  ];
}

function overhead({ boundsMs, counts, sumMs }: MetricsReading["overhead"]): Family {
  let total = 0;
  const buckets = counts.map((count, i): Sample => {
    total += count;
    const bound = boundsMs[i];
    return { suffix: "_bucket", labels: { le: bound === undefined ? "+Inf" : String(bound / 1_000) }, value: total };
  });
  const sums: Sample[] = [
    { suffix: "_sum", value: sumMs / 1_000 },
    { suffix: "_count", value: total },
  ];
  const help = "Time of a request that was not spent waiting for a provider or the client.";
  return { name: "overhead_seconds", help, type: "histogram", samples: [...buckets, ...sums] };
}

const PROBE_STATES = ["unknown", "ready", "failing"] as const;

/** By configured names alone, and only where something is probed. */
function readiness(probes: ReturnType<ControlParts["probes"]>): Family[] {
  if (probes.size === 0) return [];
  const standings = [...probes];
  const timed = standings.filter(([, { lastLatencyMs }]) => lastLatencyMs !== null);
  return [
    {
      name: "probe_state",
      help: "1 for the state in which readiness probes see a deployment.",
      type: "gauge",
      samples: standings.flatMap(([deployment, standing]) =>
        PROBE_STATES.map((state) => ({ labels: { deployment, state }, value: standing.state === state ? 1 : 0 })),
      ),
    },
    {
      name: "probe_latency_seconds",
      help: "How long the last readiness probe of a deployment took.",
      type: "gauge",
      samples: timed.map(([deployment, { lastLatencyMs }]) => ({
        labels: { deployment },
        value: (lastLatencyMs ?? 0) / 1_000,
      })),
    },
  ];
}

const CIRCUITS = ["closed", "open", "half_open"] as const;

/** By configured names alone. */
function circuits(standings: ReturnType<ControlParts["deployments"]["circuits"]>): Family {
  return {
    name: "circuit_state",
    help: "1 for the state in which the circuit of a deployment is.",
    type: "gauge",
    samples: standings.flatMap(({ name, circuit }) =>
      CIRCUITS.map((state) => ({ labels: { deployment: name, state }, value: circuit === state ? 1 : 0 })),
    ),
  };
}

const STORE_STATES = ["ok", "degraded", "down"] as const;

function gateway(parts: ControlParts, loopDelay: LoopDelay): Family[] {
  return [
    {
      name: "spool_rows",
      help: "Ledger rows on disk that are not yet in the database.",
      type: "gauge",
      samples: [{ value: parts.ledger.spooledRows() }],
    },
    {
      name: "queue_depth",
      help: "Requests that wait for a place at a deployment.",
      type: "gauge",
      samples: [{ value: parts.queueDepth() }],
    },
    {
      name: "reserved_tokens",
      help: "Tokens of ceilings that running calls have reserved.",
      type: "gauge",
      samples: [{ value: parts.reservedTokens() }],
    },
    {
      name: "store_state",
      help: "1 for the state of what replicas share.",
      type: "gauge",
      samples: STORE_STATES.map((state) => ({ labels: { state }, value: parts.store().state === state ? 1 : 0 })),
    },
    {
      name: "event_loop_delay_seconds",
      help: "How late the event loop ran its timers, over about the last minute.",
      type: "gauge",
      samples: loopDelay.quantiles().map(({ quantile, seconds }) => ({ labels: { quantile }, value: seconds })),
    },
    {
      name: "build_info",
      help: "Always 1.",
      type: "gauge",
      samples: [{ labels: { version: parts.version }, value: 1 }],
    },
  ];
}

function labelled(label: string, values: Record<string, number>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}
