import type { Client } from "../client/client.ts";
import { Client as VirtualClient } from "../client/client.ts";
import { chanceOf } from "../core/chance.ts";
import { runWorld } from "../core/engine.ts";
import { Findings, Journal, type Violation } from "../core/journal.ts";
import { MachineClock, WorldClock } from "../core/world-clock.ts";
import { checkAll } from "../invariants/all.ts";
import type { Mutant } from "../mutants.ts";
import { HealthWatch } from "../replica/health-watch.ts";
import { Books } from "../replica/ledger.ts";
import type { ReplicaParts } from "../replica/replica.ts";
import { VirtualStore } from "../replica/store.ts";
import { type UpstreamSpec, Upstreams } from "../upstream/upstreams.ts";
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
  /** How often things happened that do not happen always. */
  seen: Readonly<Record<string, number>>;
  remains: Remains;
}

/** Everything that a run left behind, for the checks. */
export interface Remains {
  plan: WorldPlan;
  clients: readonly Client[];
  upstreams: Upstreams;
  books: Books;
  fleet: Fleet;
  store: VirtualStore;
  watch: HealthWatch;
  findings: Findings;
}

/** Virtual time after the last client in which everything has to come to its end, ms: longer than any deadline. */
const AFTERMATH_MS = 3 * 3_600_000;

/** How long the longest lease is, and some more, ms. */
const RECOVERY_MS = 15 * 60_000;

/** Runs a world to its end, and checks it. `mutant`: a fault laid over the product. */
export async function runPlan(plan: WorldPlan, mutant: Mutant | null = null): Promise<Outcome> {
  const world = new WorldClock();
  const journal = new Journal(() => world.elapsedMs);
  const findings = new Findings();
  const books = new Books(findings);
  const chance = chanceOf(plan.seed, "run");
  const providerClock = new MachineClock(world);
  const specs = plan.upstreams.map(
    ({ deployment: { name, model }, speaks, act }): UpstreamSpec => ({ deployment: name, model, speaks, act }),
  );
  const upstreams = new Upstreams(specs, world, journal, chance.fork("upstreams"), () => providerClock.now());
  const store = new VirtualStore(world, chance.fork("store"), plan.replicas.length);
  const watch = new HealthWatch(world, store, findings);
  const parts: ReplicaParts = {
    ...{ world, upstreams, books, store, watch, journal, findings, mutant },
    chance: chance.fork("replicas"),
  };
  const fleet = new Fleet(plan, parts);
  await fleet.start();
  const bend = (body: Buffer): Buffer => mutant?.body?.(body) ?? body;
  const outside = { bend, clock: world, journal, chance: chance.fork("clients"), replica: () => fleet.pick() };
  const clients = plan.clients.map((spec) => new VirtualClient(spec, outside));
  const ended = await runWorld(world, [fleet], plan.horizonMs + AFTERMATH_MS);
  // An alert desk looks at the calendar for as long as it lives.
  if (!ended && plan.snapshot.alerts.length === 0)
    findings.add("no leaks", "something still waits long after the last client");
  // What a dead process held is given back by time alone; and time fills every bucket.
  world.after(RECOVERY_MS, () => {});
  await runWorld(world, [fleet], world.elapsedMs + RECOVERY_MS);
  const remains: Remains = { plan, clients, upstreams, books, fleet, store, watch, findings };
  checkAll(remains);
  for (const { rule, facts } of findings.all) journal.say("found", `${rule}: ${facts}`);
  return {
    seed: plan.seed,
    violations: findings.all,
    fingerprint: journal.fingerprint(),
    lines: journal.lines,
    seen: seenIn(books, journal),
    remains,
    counts: {
      requests: clients.reduce((sum, { visits }) => sum + visits.length, 0),
      calls: upstreams.invoice.lines.length,
      virtualMs: Math.round(world.elapsedMs),
    },
  };
}

/** Statuses, codes and events of a run. */
function seenIn({ rows, recorded }: Books, { lines }: Journal): Record<string, number> {
  const seen: Record<string, number> = {};
  const add = (what: string): void => {
    seen[what] = (seen[what] ?? 0) + 1;
  };
  for (const { row, attempts } of rows.values()) {
    add(row.status);
    if (row.error_code && row.error_code !== row.status) add(row.error_code);
    if (row.hedged) add("hedged");
    if (row.rule && row.rule !== "chain") add(`by ${row.rule}`);
    if (attempts.some(({ retry }) => retry)) add("retried");
    if (row.fallback_depth > 0) add("fell over");
  }
  for (const { error_code: code } of recorded) add(`refused: ${code}`);
  for (const line of lines) {
    const event = /^\S+ r\d \S+ (opened|half_open|closed|cooled) /.exec(line)?.[1];
    if (event) add(event);
    else if (line.endsWith(" is killed")) add("killed");
  }
  return seen;
}
