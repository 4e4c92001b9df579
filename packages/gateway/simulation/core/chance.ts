import type { Random } from "../../src/core/random.ts";

/** A repeatable source of chance: the same seed and name give the same choices, whatever others draw. */
export interface Chance extends Random {
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number;
  /** A number in [from, to). */
  between(from: number, to: number): number;
  /** True in a share `p` of cases. */
  yes(p: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** One of the names, in proportion to its weight. */
  weighted<Name extends string>(weights: Readonly<Partial<Record<Name, number>>>): Name;
  /** Another source, with draws of its own. */
  fork(name: string): Chance;
}

/** Mulberry32, seeded with the number and a name. */
export function chanceOf(seed: number, name: string): Chance {
  let state = mix(seed, name);
  const float = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    float,
    bytes(count) {
      const bytes = new Uint8Array(count);
      for (let i = 0; i < count; i++) bytes[i] = Math.floor(float() * 256);
      return bytes;
    },
    int: (from, to) => from + Math.floor(float() * (to - from + 1)),
    between: (from, to) => from + float() * (to - from),
    yes: (p) => float() < p,
    pick<T>(from: readonly T[]): T {
      return from[Math.floor(float() * from.length)] as T;
    },
    weighted(weights) {
      const entries = Object.entries(weights) as [never, number][];
      let left = float() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        left -= weight;
        if (left < 0) return name;
      }
      return (entries[entries.length - 1] as [never, number])[0];
    },
    fork: (inner) => chanceOf(state, inner),
  };
}

/** FNV-1a over the name, begun at the seed. */
function mix(seed: number, name: string): number {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
