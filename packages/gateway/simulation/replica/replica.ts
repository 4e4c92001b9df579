import type { BreakerConfig, Snapshot } from "../../src/config/snapshot.ts";
import { handleRequest } from "../../src/handle-request.ts";
import { addressed } from "../../src/protocols/registry.ts";
import type { VirtualExchange } from "../client/exchange.ts";
import type { Chance } from "../core/chance.ts";
import type { Ticking } from "../core/engine.ts";
import type { Findings, Journal } from "../core/journal.ts";
import { MachineClock, type WorldClock } from "../core/world-clock.ts";
import type { Mutant } from "../mutants.ts";
import { ReplicaTransport, type Upstreams } from "../upstream/upstreams.ts";
import type { HealthWatch } from "./health-watch.ts";
import { type Books, VirtualLedger } from "./ledger.ts";
import { type BuiltPlane, buildPlane } from "./plane.ts";
import type { VirtualStore } from "./store.ts";

/** What replicas are made from. */
export interface ReplicaParts {
  world: WorldClock;
  upstreams: Upstreams;
  books: Books;
  store: VirtualStore;
  watch: HealthWatch;
  chance: Chance;
  journal: Journal;
  findings: Findings;
  /** A fault laid over the product; null: none. */
  mutant: Mutant | null;
}

/** One gateway process. */
export class Replica implements Ticking {
  readonly name: string;
  readonly ledger: VirtualLedger;
  readonly built: BuiltPlane;
  readonly #clock: MachineClock;
  readonly #transport: ReplicaTransport;
  readonly #parts: ReplicaParts;
  readonly #exchanges = new Set<VirtualExchange>();
  #acts: (() => void)[] = [];
  #alive = true;
  /** When it was killed, virtual ms. */
  killedMs: number | null = null;
  /** To be killed as soon as something is left to be written, at the latest then. */
  #dies: { cancel(): void } | null = null;

  constructor(name: string, parts: ReplicaParts, made: Made, built: BuiltPlane) {
    this.name = name;
    this.#parts = parts;
    this.#clock = made.clock;
    this.#transport = made.transport;
    this.ledger = made.ledger;
    this.built = built;
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Does it at the end of this tick. */
  later(act: () => void): void {
    if (this.#alive) this.#acts.push(act);
  }

  /** A connection with a request. */
  serve(exchange: VirtualExchange): void {
    const { findings } = this.#parts;
    const call = addressed(exchange.path, exchange.query);
    if (!call) throw new Error(`nobody's path: ${exchange.path}`);
    this.#exchanges.add(exchange);
    handleRequest(this.built.plane, exchange, call)
      .catch((fault: unknown) => findings.add("no faults", String(fault)))
      .finally(() => this.#exchanges.delete(exchange));
  }

  flushTick(): boolean {
    if (!this.#alive) return false;
    if (this.#dies && this.ledger.pending > 0) {
      this.kill();
      return true;
    }
    const acts = this.#acts;
    this.#acts = [];
    for (const act of acts) act();
    return this.ledger.write() || acts.length > 0;
  }

  /** Kills it at the next moment at which something is lost by it, or in `withinMs`. */
  killSoon(withinMs: number): void {
    this.#dies ??= this.#parts.world.after(withinMs, () => this.kill());
  }

  /** As kill -9 does: no code of it runs any more. */
  kill(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.killedMs = this.#parts.world.elapsedMs;
    this.#dies?.cancel();
    this.#parts.journal.say(this.name, "is killed");
    this.#clock.kill();
    this.#transport.kill();
    this.ledger.kill();
    this.#acts = [];
    for (const exchange of this.#exchanges) exchange.cut();
    this.#exchanges.clear();
  }

  /** It goes as it should, with nothing left to do. Says what is left all the same. */
  close(): string[] {
    if (!this.#alive) return [];
    const left = this.built.leftovers();
    if (this.#exchanges.size > 0) left.push(`${this.#exchanges.size} requests without an end`);
    if (this.#transport.openCalls > 0) left.push(`${this.#transport.openCalls} upstream calls open`);
    this.built.close();
    this.flushTick();
    if (this.#clock.timers > 0) left.push(`${this.#clock.timers} timers`);
    return left;
  }
}

interface Made {
  clock: MachineClock;
  transport: ReplicaTransport;
  ledger: VirtualLedger;
}

/** Starts one. `skewMs`: how far its wall clock is off. */
export async function startReplica(
  name: string,
  snapshot: Snapshot,
  skewMs: number,
  parts: ReplicaParts,
): Promise<Replica> {
  const { world, upstreams, books, store, chance, journal, findings } = parts;
  const clock = new MachineClock(world, skewMs);
  const transport = new ReplicaTransport(upstreams, name);
  const ledger = new VirtualLedger(books);
  const built = await buildPlane({
    ...{ name, snapshot, clock, transport, ledger, store, journal, findings },
    chance: chance.fork(`random of ${name}`),
  });
  journal.say(name, "is up");
  const { mutant } = parts;
  const replica = new Replica(name, parts, { clock, transport, ledger }, built);
  mutant?.inside?.(built);
  const breaker = (key: string): BreakerConfig | undefined => snapshot.deployments.get(key)?.breaker;
  parts.watch.follow(name, built.calm.health, breaker, () => replica.killedMs);
  mutant?.outside?.(built);
  built.calm.health.onEvent(({ kind, key, why, by }) => {
    const { coolingUntil, retryAt } = built.calm.health.read(key);
    const untilMs = Math.max(coolingUntil, retryAt) - clock.now();
    const until = untilMs > 0 ? ` for ${Math.round(untilMs)} ms` : "";
    journal.say(name, `${key} ${kind} ${why ?? ""} ${by}${until}`);
  });
  return replica;
}
