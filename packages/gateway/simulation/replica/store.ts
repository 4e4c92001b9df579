import type { Clock } from "../../src/core/clock.ts";
import { Holds } from "../../src/state/holds.ts";
import { type Draw, LocalCeilings } from "../../src/state/local-ceilings.ts";
import { type MemoryStore, memoryState, memoryStore } from "../../src/state/memory.ts";
import type { Claim, ReserveRequest, ReserveResult, Settlement, SharedState } from "../../src/state/state.ts";
import type { Chance } from "../core/chance.ts";
import { MachineClock, type WorldClock } from "../core/world-clock.ts";

/** What the replicas of a run share, over a network. */
export class VirtualStore {
  #lost = false;
  /** It was lost at some time. */
  everLost = false;
  readonly #memory: MemoryStore;
  readonly #chance: Chance;
  readonly #replicas: number;

  constructor(world: WorldClock, chance: Chance, replicas: number) {
    this.#memory = memoryStore(new MachineClock(world));
    this.#chance = chance;
    this.#replicas = replicas;
  }

  /** Nobody can reach it. */
  get lost(): boolean {
    return this.#lost;
  }

  set lost(lost: boolean) {
    this.#lost = lost;
    this.everLost ||= lost;
  }

  /** As one replica reaches it. */
  stateFor(clock: Clock): SharedState {
    return new RemoteState(clock, this, memoryState(clock, this.#memory), this.#replicas);
  }

  /** How long one way to it takes now, ms. */
  wayMs(): number {
    return this.#chance.between(0.05, 2);
  }
}

/**
 * The memory store behind a network: every answer takes its time, and while the store is lost, a replica goes on with its part
 * of every ceiling, hears no records and gets every lease. The promises are those of state.ts, which a real Redis is held to by
 * its contract suite.
 */
class RemoteState implements SharedState {
  readonly kind = "redis";
  readonly board: SharedState["board"];
  readonly replays: SharedState["replays"];
  readonly #clock: Clock;
  readonly #store: VirtualStore;
  readonly #shared: SharedState;
  readonly #alone: LocalCeilings;
  readonly #holds = new Holds<{ request: ReserveRequest; draws: Draw[] }>();
  /** When the last of what is on its way arrives: over one connection, everything comes in its order. */
  readonly #lastMs = { there: 0, back: 0 };
  /** Told when the store is back. */
  #unsent: (() => void)[] = [];

  constructor(clock: Clock, store: VirtualStore, shared: SharedState, replicas: number) {
    this.#clock = clock;
    this.#store = store;
    this.#shared = shared;
    this.#alone = new LocalCeilings();
    this.#alone.share = 1 / replicas;
    const { board, replays } = shared;
    this.board = {
      publish: (key, record) => this.#send(() => board.publish(key, record)),
      listen: (fn) => board.listen((key, record) => this.#hear(() => fn(key, record))),
      lease: async (name, ttlMs) => (await this.#ask(() => board.lease(name, ttlMs))) ?? true,
      release: (name) => this.#send(() => board.release(name)),
    };
    this.replays = {
      claim: async (key, bodyHash, leaseMs) =>
        (await this.#ask(() => replays.claim(key, bodyHash, leaseMs))) ?? this.#claimAlone(),
      watch: (key, fn) => replays.watch(key, fn),
    };
  }

  standing(): "ok" | "down" {
    return this.#store.lost ? "down" : "ok";
  }

  async reserve(request: ReserveRequest): Promise<ReserveResult> {
    const answer = await this.#ask(() => this.#shared.reserve(request));
    if (answer) return answer;
    const reserved = this.#alone.reserve(request, this.#clock.monotonic());
    if (!reserved.ok) return reserved;
    this.#holds.add(request.holder, { request, draws: reserved.draws });
    return { ok: true };
  }

  settle(settlement: Settlement): void {
    const hold = this.#holds.take(settlement.holder);
    if (!hold) return this.#send(() => this.#shared.settle(settlement));
    this.#alone.settle(hold.request, hold.draws, settlement.usedTokens, this.#clock.monotonic());
  }

  reservedTokens(): number {
    return this.#shared.reservedTokens() + this.#holds.tokens();
  }

  used: SharedState["used"] = (ceiling) => this.#shared.used(ceiling);

  async close(): Promise<void> {}

  /** There and back; null when the store is lost. */
  #ask<T>(act: () => T | Promise<T>): Promise<T | null> {
    if (this.#store.lost) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      this.#clock.after(this.#wayMs("there"), () => {
        if (this.#store.lost) return resolve(null);
        Promise.resolve(act()).then((answer) => this.#clock.after(this.#wayMs("back"), () => resolve(answer)), reject);
      });
    });
  }

  /** One way, sent again when the store is back. */
  #send(act: () => void): void {
    this.#clock.after(this.#wayMs("there"), () => {
      if (this.#store.lost) {
        this.#unsent.push(act);
        if (this.#unsent.length === 1) this.#look();
      } else act();
    });
  }

  #wayMs(direction: "there" | "back"): number {
    const now = this.#clock.monotonic();
    const atMs = Math.max(now + this.#store.wayMs(), this.#lastMs[direction]);
    this.#lastMs[direction] = atMs;
    return atMs - now;
  }

  #look(): void {
    this.#clock.after(LOOK_MS, () => {
      if (this.#store.lost) return this.#look();
      const unsent = this.#unsent;
      this.#unsent = [];
      for (const act of unsent) act();
    });
  }

  #hear(act: () => void): void {
    this.#clock.after(this.#wayMs("back"), act);
  }

  #claimAlone(): Claim {
    return { state: "mine", run: { renew: () => {}, complete: () => {}, forget: () => {} } };
  }
}

/** How often a lost store is looked for, ms. */
const LOOK_MS = 250;
