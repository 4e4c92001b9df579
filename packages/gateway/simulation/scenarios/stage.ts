import type { AlertTarget, Deployment, ProviderConfig, Route } from "../../src/config/snapshot.ts";
import type { ClientSpec } from "../client/spec.ts";
import type { Act } from "../upstream/act.ts";
import type { UpstreamSpec } from "../upstream/upstreams.ts";
import type { WorldPlan } from "../world/plan.ts";
import { type Outcome, runPlan } from "../world/run.ts";
import { PROVIDERS, type Template } from "../world/template.ts";
import { keyOf } from "../world/tenants.ts";

/** A world that is written by hand. */
export interface Stage {
  deployments: readonly Cast[];
  route?: Partial<Route>;
  tenants?: readonly string[];
  clients: readonly (Partial<ClientSpec> & { tenant?: string })[];
  replicas?: number;
  providers?: Partial<ProviderConfig>;
  alerts?: readonly AlertTarget[];
}

/** One upstream of it: its config, and what it does. */
export interface Cast {
  name: string;
  config?: Partial<Deployment>;
  act: (call: Parameters<UpstreamSpec["act"]>[0]) => Act;
}

/** What everybody in it is sure of. */
const CLIENT: Omit<ClientSpec, "name" | "key"> = {
  ...{ atMs: 0, dialect: "openai-chat", alias: "default", stream: false, metadata: false, showsUsage: false },
  ...{
    promptChars: 10,
    words: 1,
    maxTokens: null,
    wants: null,
    sharedMark: null,
    toolResults: false,
    platform: {},
    headers: {},
  },
  ...{ bodyPieces: 1, bodyPaceMs: 1, leaving: { kind: "never" }, reading: { kind: "fast" }, retries: 0 },
};

/** Plays it to its end. Every promise is checked as in any other world. */
export function play(template: Template, stage: Stage): Promise<Outcome> {
  const { snapshot, tenant, route, deployment } = template;
  const tenants = stage.tenants ?? ["acme"];
  const upstreams = stage.deployments.map(({ name, config, act }) => ({
    speaks: "chat" as const,
    act,
    deployment: { ...deployment, name, provider: PROVIDERS.chat, model: `${name}-2026-01-01`, ...config },
  }));
  const chain = upstreams.map(({ deployment: { name } }) => name);
  const plan: WorldPlan = {
    seed: 1,
    horizonMs: Math.max(...stage.clients.map(({ atMs = 0 }) => atMs)) + 1,
    snapshot: {
      ...snapshot,
      providers: new Map([...snapshot.providers].map(([name, config]) => [name, { ...config, ...stage.providers }])),
      deployments: new Map(upstreams.map(({ deployment: one }) => [one.name, one])),
      routes: new Map([["default", { ...route, alias: "default", chain, ...stage.route }]]),
      alerts: stage.alerts ?? [],
      tenants: new Map(tenants.map((name) => [name, { ...tenant, name, allow: null }])),
      keys: tenants.map((name) => keyOf(name).entry),
    },
    upstreams,
    replicas: Array.from({ length: stage.replicas ?? 1 }, (_, i) => ({ name: `r${i}`, skewMs: 0 })),
    clients: stage.clients.map(({ tenant: of = tenants[0] ?? "acme", ...spec }, i) => ({
      ...CLIENT,
      ...{ name: `c${i}`, key: keyOf(of).key },
      ...spec,
    })),
    faults: [],
  };
  return runPlan(plan);
}

/** So many clients, evenly over a time. */
export function evenly(
  count: number,
  overMs: number,
  each: (i: number) => Stage["clients"][number] = () => ({}),
): Stage["clients"][number][] {
  return Array.from({ length: count }, (_, i) => ({ atMs: (i * overMs) / count, ...each(i) }));
}

/** The money of a run, micro-USD. */
export function spent({ remains }: Outcome): number {
  return [...remains.books.rows.values()].reduce((sum, { row }) => sum + row.cost_micro_usd, 0);
}

/** How long clients waited for the first of their answers, ms, in ascending order. */
export function waits({ remains }: Outcome): number[] {
  return remains.clients
    .flatMap(({ visits }) => visits.map(({ firstOutputMs, startedMs }) => (firstOutputMs ?? Number.NaN) - startedMs))
    .sort((a, b) => a - b);
}

/** Statuses that clients saw, and how often. */
export function statuses({ remains }: Outcome): Record<string, number> {
  const seen: Record<string, number> = {};
  for (const { visits } of remains.clients)
    for (const { status } of visits) seen[String(status)] = (seen[String(status)] ?? 0) + 1;
  return seen;
}
