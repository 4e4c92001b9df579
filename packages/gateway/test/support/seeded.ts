/** A repeatable source of chance: the same seed gives the same choices. */
export interface Seeded {
  /** In [0, 1). */
  float(): number;
  /** A whole number from `from` to `to`, both included. */
  int(from: number, to: number): number;
  pick<T>(from: readonly T[]): T;
}

/** Mulberry32. */
export function seeded(seed: number): Seeded {
  let state = seed >>> 0;
  const float = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    float,
    int: (from, to) => from + Math.floor(float() * (to - from + 1)),
    pick<T>(from: readonly T[]): T {
      return from[Math.floor(float() * from.length)] as T;
    },
  };
}
