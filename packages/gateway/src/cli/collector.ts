import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

/** What small buffers are cut from. Node.js 20 has so much by itself; later ones have eight times as much. */
const POOL_BYTES = 8 * 1024;

/** Makes what a small buffer can hold on to small: a piece that waits for a slow client keeps all of the pool that it was cut from. */
export function suitBuffers(): void {
  Buffer.poolSize = POOL_BYTES;
}

/**
 * Lets V8 clear its young generation in one thread where the process has one core: helpers could only take turns with it, and
 * cost more than they do (docs/decisions/011). Called once, before there is much to clear.
 */
export function suitCollector(
  cores: number = availableParallelism(),
  setFlag: (flag: string) => void = setFlagsFromString,
): void {
  if (cores === 1) setFlag("--no-parallel-scavenge");
}
