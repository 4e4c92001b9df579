import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

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
