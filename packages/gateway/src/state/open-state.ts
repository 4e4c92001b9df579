import type { StateConfig } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import type { Log } from "../telemetry/log.ts";
import { memoryState } from "./memory.ts";
import { RedisState } from "./redis.ts";
import type { SharedState } from "./state.ts";

/** How long a start waits for the store's first answer, ms: without it, it goes on alone. */
const FIRST_ANSWER_MS = 1_000;

/** What a store is opened with. */
export interface StateParts {
  clock: Clock;
  random: Random;
  log: Pick<Log, "info" | "warn">;
}

/** Opens what replicas share: in this process alone, or in Redis, which need not be there yet. */
export async function openState(config: StateConfig, { clock, random, log }: StateParts): Promise<SharedState> {
  if (config.kind === "memory") return memoryState(clock);
  const state = new RedisState({
    ...{ url: config.url, clock, random },
    onStanding: (standing, problem) => {
      if (standing === "ok") log.info("the shared store answers", {});
      else log.warn("the shared store does not answer: this replica goes on alone", { standing, problem });
    },
  });
  await state.connected(FIRST_ANSWER_MS);
  return state;
}
