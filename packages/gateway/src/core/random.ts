import { randomFillSync } from "node:crypto";

/** Randomness as the gateway sees it; tests put a seeded one in its place. */
export interface Random {
  /** `count` random bytes, at most 64; the array is the caller's. */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1). */
  float(): number;
}

const POOL_BYTES = 8_192;

/** Cryptographic randomness, drawn from a pool so that an id costs no system call. */
export function systemRandom(): Random {
  const pool = Buffer.allocUnsafe(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    bytes(count) {
      if (used + count > POOL_BYTES) {
        randomFillSync(pool);
        used = 0;
      }
      // By hand: for so few, calls that copy and clear cost more than their work.
      const taken = new Uint8Array(count);
      for (let i = 0; i < count; i++) {
        taken[i] = pool[used] as number;
        pool[used++] = 0;
      }
      return taken;
    },
    float: () => Math.random(),
  };
}
