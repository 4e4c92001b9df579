import type { Cancel } from "../core/cancel.ts";
import { type AttemptRecord, askForRenewal } from "./attempt-record.ts";
import { clientLeft, waitFor } from "./pause.ts";
import type { DataPlane } from "./plane.ts";
import type { Visit } from "./visit.ts";

/** The longest a refused call waits for another credential. */
const RENEWAL_MS_MAX = 10_000;

/** What a refused call may do about it. */
export interface RenewalTerms {
  visit: Visit;
  /** It has been renewed at this deployment before. */
  renewed: boolean;
  /** It may be made again, and there is nowhere else to go: a new credential is worth waiting for. */
  mayWait: boolean;
  remainingMs: number;
}

/**
 * After a refused credential: whether the call may be made again with another one. Waits for that inside the deadline, but
 * only once at a deployment, and only when there is nowhere else to go; the provider hears of the refusal in any case. Rejects
 * when the client leaves meanwhile.
 */
export function renewal(
  plane: DataPlane,
  record: AttemptRecord,
  { visit, renewed, mayWait, remainingMs }: RenewalTerms,
  cancel: Cancel,
): boolean | Promise<boolean> {
  const answer = askForRenewal(record);
  if (typeof answer !== "object") return answer && !renewed;
  if (!renewed && mayWait) {
    const ms = Math.min(RENEWAL_MS_MAX, remainingMs);
    return waitFor(plane, visit, { promise: answer, ms, otherwise: false }, cancel).then((came) => {
      if (cancel.cancelled) throw clientLeft();
      return came;
    });
  }
  answer.catch(() => {});
  return false;
}
