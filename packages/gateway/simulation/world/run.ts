import type { Client } from "../client/client.ts";
import { Client as VirtualClient } from "../client/client.ts";
import { chanceOf } from "../core/chance.ts";
import { runWorld } from "../core/engine.ts";
import { Findings, Journal, type Violation } from "../core/journal.ts";
import { MachineClock, WorldClock } from "../core/world-clock.ts";
import { checkAll } from "../invariants/all.ts";
import { Books } from "../replica/ledger.ts";
import type { ReplicaParts } from "../replica/replica.ts";
import { VirtualStore } from "../replica/store.ts";
import { nextAct } from "../upstream/mood.ts";
import { Upstreams, type UpstreamSpec } from "../upstream/upstreams.ts";
import { Fleet } from "./fleet.ts";
import type { WorldPlan } from "./plan.ts";

/** What came of a run. */
export interface Outcome {
  seed: number;
  violations: readonly Violation[];
  /** The same for every run of a seed. */
  fingerprint: string;
  lines: readonly string[];
  counts: { requests: number; calls: number; virtualMs: number };
}

/** Everything that a run left behind, for the checks. */
export interface Remains {
  plan: WorldPlan;
  clients: readonly Client[];
  upstreams: Upstreams;
  books: Books;
  fleet: Fleet;
  findings: Findings;
}

/** Virtual time after the last client in which everything has to come to its end, ms: longer than any deadline. */
const AFTERMATH_MS = 3 * 3_600_000;

/** Runs a world to its end, and checks it. `bend`: what a mutant breaks. */
export async function runPlan(plan: WorldPlan, bend: ReplicaParts["bend"] = (built) => built): Promise<Outcome> {
  const world = new WorldClock();
  const journal = new Journal(() => world.elapsedMs);
  const findings = new Findings();
  const books = new Books(findings);
  const chance = chanceOf(plan.seed, "run");
  const providerClock = new MachineClock(world);
  const specs = plan.upstreams.map(
    ({ deployment, speaks, weather }): UpstreamSpec => ({
      ...{ deployment: deployment.name, model: deployment.model, speaks },
      act: ({ atMs, wants, words }, draws) => nextAct(weather, atMs, draws, wants, words),
    }),
  );
  const upstreams = new Upstreams(specs, world, journal, chance.fork("upstreams"), () => providerClock.now());
  const store = new VirtualStore(world, chance.fork("store"), plan.replicas.length);
  const parts: ReplicaParts = {
    ...{ world, upstreams, books, store, journal, findings, bend },
    chance: chance.fork("replicas"),
  };
  const fleet = new Fleet(plan, parts);
  await fleet.start();
  const outside = { clock: world, journal, chance: chance.fork("clients"), replica: () => fleet.pick() };
  const clients = plan.clients.map((spec) => new VirtualClient(spec, outside));
  const ended = await runWorld(world, [fleet], plan.horizonMs + AFTERMATH_MS);
  if (!ended) findings.add("no leaks", "something still waits long after the last client");
  checkAll({ plan, clients, upstreams, books, fleet, findings });
  for (const { rule, facts } of findings.all) journal.say("found", `${rule}: ${facts}`);
  return {
    seed: plan.seed,
    violations: findings.all,
    fingerprint: journal.fingerprint(),
    lines: journal.lines,
    counts: {
      requests: clients.reduce((sum, { visits }) => sum + visits.length, 0),
      calls: upstreams.invoice.lines.length,
      virtualMs: Math.round(world.elapsedMs),
    },
  };
}
