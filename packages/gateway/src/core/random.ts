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
      const taken = Uint8Array.prototype.slice.call(pool, used, used + count);
      pool.fill(0, used, used + count);
      used += count;
      return taken;
    },
    float: () => Math.random(),
  };
}
