import type { Ticking } from "../core/engine.ts";
import { type Replica, type ReplicaParts, startReplica } from "../replica/replica.ts";
import type { Fault } from "./faults.ts";
import type { WorldPlan } from "./plan.ts";

/** All replicas, those that died too. */
export class Fleet implements Ticking {
  readonly #parts: ReplicaParts;
  readonly #plan: WorldPlan;
  readonly #all: Replica[] = [];
  readonly #now = new Map<string, Replica>();

  constructor(plan: WorldPlan, parts: ReplicaParts) {
    this.#plan = plan;
    this.#parts = parts;
  }

  /** Every process that ever ran. */
  get all(): readonly Replica[] {
    return this.#all;
  }

  async start(): Promise<void> {
    for (const { name } of this.#plan.replicas) await this.#start(name);
    for (const fault of this.#plan.faults) this.#parts.world.at(fault.atMs, () => this.#strike(fault));
  }

  /** One that takes connections. */
  pick(): Replica | null {
    const up = [...this.#now.values()].filter(({ alive }) => alive);
    return up.length === 0 ? null : this.#parts.chance.pick(up);
  }

  flushTick(): boolean {
    let any = false;
    for (const replica of this.#now.values()) if (replica.flushTick()) any = true;
    return any;
  }

  #strike(fault: Fault): void {
    if (fault.kind === "store_lost") return this.#loseStore(fault.forMs);
    const replica = this.#now.get(fault.replica);
    if (!replica?.alive) return;
    const { world, journal } = this.#parts;
    if (fault.kind === "spool_full") {
      journal.say(replica.name, "has a full spool");
      replica.ledger.full = true;
      world.after(fault.forMs, () => {
        replica.ledger.full = false;
      });
      return;
    }
    const killMs = fault.mean ? KILL_WITHIN_MS : 0;
    if (fault.mean) replica.killSoon(killMs);
    else replica.kill();
    world.after(killMs + fault.backAfterMs, () => {
      // The next process on the machine finds the spool.
      replica.ledger.adopt();
      // Two blows may have been one.
      if (this.#now.get(replica.name) !== replica) return;
      this.#start(replica.name).catch((error: unknown) => this.#parts.findings.add("replicas start", String(error)));
    });
  }

  #loseStore(forMs: number): void {
    const { world, journal, store } = this.#parts;
    journal.say("store", "is lost");
    store.lost = true;
    world.after(forMs, () => {
      journal.say("store", "is back");
      store.lost = false;
    });
  }

  async #start(name: string): Promise<void> {
    const { snapshot, replicas } = this.#plan;
    const skewMs = replicas.find((replica) => replica.name === name)?.skewMs ?? 0;
    const started = await startReplica(name, snapshot, skewMs, this.#parts);
    this.#all.push(started);
    this.#now.set(name, started);
  }
}

/** A mean kill waits no longer than this for its moment, ms. */
const KILL_WITHIN_MS = 2_000;
