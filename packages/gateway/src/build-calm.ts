import type { BreakerConfig, Snapshot } from "./config/snapshot.ts";
import type { Clock } from "./core/clock.ts";
import type { Random } from "./core/random.ts";
import { OutputEstimates } from "./limits/output-estimate.ts";
import { HealthBoard } from "./resilience/health-board.ts";
import { HedgeBudget } from "./resilience/hedge.ts";
import { WaitingRoom } from "./resilience/queue.ts";
import { RetryBudget } from "./resilience/retry-budget.ts";
import type { BoardRecord, SharedBoard } from "./resilience/shared-board.ts";
import { Shedder } from "./resilience/shedding.ts";
import { Ceilings } from "./stages/ceilings.ts";
import type { DataPlane } from "./stages/plane.ts";
import { ownHealth } from "./stages/route.ts";
import type { SharedState } from "./state/state.ts";

/** What keeps the data plane calm under faults. */
export type Calm = Pick<DataPlane, "state" | "health" | "hedges" | "ceilings" | "shedder" | "retryBudget"> & {
  rooms: WaitingRoom;
  /** The deployments of another config: what is known of those that stay is kept. */
  follow(snapshot: Snapshot): void;
  /** A provider's credential is another one: its deployments are asked again. `tenant`: whose own it is. */
  credentialChanged(provider: string, tenant: string | null): void;
  close(): Promise<void>;
};

/** Makes the board of health; a test puts in another. */
export type MakeHealth = (parts: ConstructorParameters<typeof HealthBoard>[0]) => HealthBoard;

/** What it is built from. */
export interface CalmParts {
  clock: Clock;
  random: Random;
  state: SharedState;
  makeHealth?: MakeHealth | undefined;
}

/** Builds it on `state`, which it closes with itself. */
export function buildCalm(parts: CalmParts): Calm {
  const { clock, random, state, makeHealth = (own) => new HealthBoard(own) } = parts;
  const health = makeHealth({ clock, random, shared: boardOf(state) });
  const hedges = new HedgeBudget();
  const retryBudget = new RetryBudget(clock);
  const rooms = new WaitingRoom(clock);
  const shedder = new Shedder();
  const ceilings = new Ceilings({ clock, state, rooms, outputs: new OutputEstimates() });
  let followed: Snapshot | null = null;
  return {
    ...{ state, health, hedges, retryBudget, rooms, shedder, ceilings },
    follow(snapshot) {
      followed = snapshot;
      const breakers = breakersOf(snapshot);
      const names = new Set(breakers.keys());
      health.follow(breakers, longestWindowMs(snapshot));
      hedges.retain(names);
      retryBudget.retain(names);
    },
    credentialChanged(provider, tenant) {
      for (const name of [...deploymentsOf(followed, provider), `${provider}/*`])
        health.credentialChanged(tenant === null ? name : ownHealth(name, tenant));
    },
    async close() {
      health.close();
      await state.close();
    },
  };
}

/** The board of a store as boards of health want it: what comes from it is what one of them has put there. */
export function boardOf({ board }: SharedState): SharedBoard {
  return {
    publish: (key, record) => board.publish(key, record),
    listen: (fn) => board.listen((key, record) => fn(key, record as BoardRecord | null)),
    lease: (name, ttlMs) => board.lease(name, ttlMs),
    release: (name) => board.release(name),
  };
}

/** The longest window that a route looks at its deployments over. */
function longestWindowMs({ routes }: Snapshot): number {
  let longest = 0;
  for (const { health } of routes.values()) longest = Math.max(longest, health.windowMs);
  return longest;
}

function deploymentsOf(snapshot: Snapshot | null, provider: string): string[] {
  const all = [...(snapshot?.deployments.values() ?? [])];
  return all.filter((deployment) => deployment.provider === provider).map(({ name }) => name);
}

/** The breakers of a config by the names that health is kept under; those of tenants with their own credentials too. */
function breakersOf(snapshot: Snapshot): Map<string, BreakerConfig> {
  const breakers = new Map<string, BreakerConfig>();
  const add = (name: string, provider: string, breaker: BreakerConfig): void => {
    breakers.set(name, breaker);
    for (const tenant of snapshot.tenants.values())
      if (tenant.credentials?.has(provider)) breakers.set(ownHealth(name, tenant.name), breaker);
  };
  for (const { name, provider, breaker } of snapshot.deployments.values()) add(name, provider, breaker);
  for (const name of snapshot.providers.keys()) add(`${name}/*`, name, snapshot.rawDeployment.breaker);
  return breakers;
}
