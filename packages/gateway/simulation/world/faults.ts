import type { Chance } from "../core/chance.ts";

/** Something that happens to the installation itself. */
export type Fault =
  /** A replica is killed, and started again after a while; `mean`: at the moment at which a write is pending. */
  | { kind: "crash"; replica: string; atMs: number; backAfterMs: number; mean: boolean }
  /** A replica's spool takes nothing for a while. */
  | { kind: "spool_full"; replica: string; atMs: number; forMs: number }
  /** Nobody reaches the shared store for a while. */
  | { kind: "store_lost"; atMs: number; forMs: number };

/** The faults of a run; mostly none. */
export function faultsOf(chance: Chance, horizonMs: number, replicas: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const atMs = (): number => chance.between(0, horizonMs);
  while (chance.yes(0.3) && faults.length < 3)
    faults.push({
      kind: "crash",
      replica: chance.pick(replicas),
      atMs: atMs(),
      backAfterMs: chance.between(100, 10_000),
      mean: chance.yes(0.5),
    });
  if (chance.yes(0.05))
    faults.push({
      kind: "spool_full",
      replica: chance.pick(replicas),
      atMs: atMs(),
      forMs: chance.between(100, 5_000),
    });
  if (chance.yes(0.1)) faults.push({ kind: "store_lost", atMs: atMs(), forMs: chance.between(100, horizonMs / 2) });
  return faults;
}
