import type { StateConfig } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import { LIMITS } from "../core/limits.ts";
import type { Random } from "../core/random.ts";
import type { Log } from "../telemetry/log.ts";
import { memoryState } from "./memory.ts";
import { RedisState } from "./redis.ts";
import type { SharedState, Standing } from "./state.ts";

/** How long a start waits for the store's first answer, ms: without it, it goes on alone. */
const FIRST_ANSWER_MS = 1_000;

/** What a store is opened with. */
export interface StateParts {
  clock: Clock;
  random: Random;
  log: Pick<Log, "info" | "warn">;
  /** How long an answer of the store is waited for, ms. */
  patienceMs?: number;
}

/** Opens what replicas share: in this process alone, or in Redis, which need not be there yet. Throws for a bad address. */
export async function openState(config: StateConfig, parts: StateParts): Promise<SharedState> {
  const { clock, random, log, patienceMs = LIMITS.storeAnswerMs } = parts;
  if (config.kind === "memory") return memoryState(clock);
  const tell = (standing: Standing, problem: string | null): void => {
    if (standing === "ok") log.info("the shared store answers", {});
    else log.warn("the shared store does not answer: this replica goes on alone", { standing, problem });
  };
  const state = new RedisState({ url: config.url, clock, random, onStanding: tell, patienceMs });
  await state.connected(FIRST_ANSWER_MS);
  // It starts as `down`: a store that is not there at the start is no change.
  if (state.standing() === "down") tell("down", state.problem);
  return state;
}
