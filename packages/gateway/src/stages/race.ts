import { CLASSES } from "../core/errors.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import type { DataPlane } from "./plane.ts";

/** How a race ended: the one that decides, and what it came to. */
export interface Raced {
  record: AttemptRecord;
  outcome: AttemptOutcome;
  /** A second one ran, whether it won or not. */
  second: AttemptRecord | null;
}

/** The second runner: when it sets off, and how. */
export interface Second {
  afterMs: number;
  /** What is too long for the first one may not be for this one. */
  takesOverflow: boolean;
  /** Makes it; null when it may not run after all, as when the first one has ended while this one asked for leave. Never rejects. */
  start(isOver: () => boolean): Promise<AttemptRecord | null>;
}

/**
 * Waits for an attempt, and starts a second one beside it when it takes long (RES-8). The first SUCCESS wins; a failure waits for
 * the other, unless it is one that nobody may try to get round. Who loses is stopped at its socket.
 */
export async function race(plane: DataPlane, first: AttemptRecord, second: Second): Promise<Raced> {
  const late = await isLate(plane, first, second.afterMs);
  const rival = late ? await second.start(() => first.attempt.meter.endedAt !== null || first.attempt.committed) : null;
  if (!rival) return { record: first, outcome: await first.attempt.outcome, second: null };
  const ends = [endOf(first), endOf(rival)] as const;
  const earlier = await Promise.race(ends);
  if (decides(earlier.outcome, earlier.record === first, second.takesOverflow)) {
    await stop(earlier.record === first ? rival : first);
    return { ...earlier, second: rival };
  }
  if (earlier.outcome.kind === "failed") earlier.record.failure = earlier.outcome.failure;
  const later = await ends[earlier.record === first ? 1 : 0];
  return { ...later, second: rival };
}

/**
 * Nothing that the other one says could change it: an answer, a filter's refusal, which is nobody's to get round, or the first
 * one's refusal of the request. What only the second one cannot take is its own business.
 */
function decides(outcome: AttemptOutcome, isFirst: boolean, takesOverflow: boolean): boolean {
  if (outcome.kind !== "failed") return true;
  const { class: kind } = outcome.failure;
  if (kind === "content_filtered" || kind === "cancelled") return true;
  if (kind === "context_overflow" && takesOverflow) return false;
  return isFirst && !CLASSES[kind].retryable && !CLASSES[kind].fallOver;
}

/** Closes the loser's connection. One that has ended by itself in the meantime keeps its own end. */
async function stop(loser: AttemptRecord): Promise<void> {
  loser.superseded = true;
  loser.attempt.stop("cancelled", "another attempt was faster");
  const outcome = await loser.attempt.outcome;
  if (outcome.kind === "failed") loser.failure = outcome.failure;
  else if (outcome.kind === "streaming") loser.failure = (await loser.attempt.end).failure;
}

async function endOf(record: AttemptRecord): Promise<{ record: AttemptRecord; outcome: AttemptOutcome }> {
  return { record, outcome: await record.attempt.outcome };
}

/** Whether an attempt has come to nothing by then. A failure is no reason to hedge: it is the attempt loop's business. */
function isLate({ clock }: DataPlane, { attempt }: AttemptRecord, afterMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.after(afterMs, () => resolve(true));
    const soon = (): void => {
      timer.cancel();
      resolve(false);
    };
    attempt.outcome.then(soon, soon);
  });
}
