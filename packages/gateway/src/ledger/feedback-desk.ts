import type { FeedbackRow } from "@sluicegate/contract";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { FeedbackTarget, FeedbackTargetFacts } from "./feedback-reads.ts";
import type { LedgerWriter } from "./ledger.ts";

/** What a desk stands on. */
export interface FeedbackParts {
  ledger: Pick<LedgerWriter, "accepting" | "score" | "drain">;
  /** A thread of its own: a long report must not hold up a client. Closed with the desk. */
  reader: { feedbackTarget(target: FeedbackTarget): Promise<FeedbackTargetFacts>; close(): Promise<void> };
  clock: Clock;
}

/**
 * Takes clients' scores. What they are of is looked up on another thread, and waited for where it has only just ended. A
 * database that cannot be asked is no reason to lose a score: reports join scores inside their tenant in any case.
 */
export class FeedbackDesk {
  readonly #parts: FeedbackParts;
  #waiting = 0;
  /** The next bringing in of the spool, which has not begun; and the one that runs. */
  #next: Promise<boolean> | null = null;
  #running: Promise<boolean> | null = null;
  #begunAt = Number.NEGATIVE_INFINITY;

  constructor(parts: FeedbackParts) {
    this.#parts = parts;
  }

  /** Keeps a score. Throws not_found for what its tenant has not made, invalid_request for one too many, overloaded. */
  async leave(row: FeedbackRow): Promise<void> {
    const { ledger } = this.#parts;
    if (!ledger.accepting() || this.#waiting >= LEDGER_LIMITS.feedbackWaitingMax)
      throw new GatewayError("overloaded", "no feedback is taken just now; send it again", { retryAfterMs: 1_000 });
    this.#waiting++;
    try {
      check(row, await this.#factsOf(row));
    } finally {
      this.#waiting--;
    }
    ledger.score(row);
  }

  /** Ends its reader. */
  close(): Promise<void> {
    return this.#parts.reader.close();
  }

  /** Null: nobody can say. */
  async #factsOf({ tenant, name, request_id, session_id }: FeedbackRow): Promise<FeedbackTargetFacts | null> {
    const target: FeedbackTarget =
      request_id === null
        ? { tenant, name, kind: "session", id: session_id ?? "" }
        : { tenant, name, kind: "request", id: request_id };
    const facts = await this.#look(target);
    if (!facts || facts.found) return facts;
    // It may still be on its way into the database.
    return (await this.#broughtIn()) ? this.#look(target) : null;
  }

  #look(target: FeedbackTarget): Promise<FeedbackTargetFacts | null> {
    return new Promise((resolve, reject) => {
      const giveUp = this.#parts.clock.after(LEDGER_LIMITS.feedbackLookMs, () => resolve(null));
      this.#parts.reader
        .feedbackTarget(target)
        .then(resolve, (error: unknown) => (error instanceof GatewayError ? reject(error) : resolve(null)))
        .finally(() => giveUp.cancel());
    });
  }

  /** Resolves when all that was spooled until now is in the database; false: it does not get there. */
  #broughtIn(): Promise<boolean> {
    this.#next ??= this.#bringIn();
    return this.#next;
  }

  /** One at a time, and not often: each ends the wait that saves the database half of its writes. */
  async #bringIn(): Promise<boolean> {
    const { clock, ledger } = this.#parts;
    await this.#running;
    const waitMs = this.#begunAt + LEDGER_LIMITS.feedbackDrainEveryMs - clock.monotonic();
    if (waitMs > 0) await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    this.#begunAt = clock.monotonic();
    // Whoever comes from here on may have spooled something that this one leaves out.
    this.#next = null;
    const running = ledger.drain(LEDGER_LIMITS.feedbackDrainMs).then(
      () => true,
      () => false,
    );
    this.#running = running;
    return running;
  }
}

function check({ request_id, session_id }: FeedbackRow, facts: FeedbackTargetFacts | null): void {
  if (!facts) return;
  const [param, id] = request_id === null ? ["session_id", session_id] : ["request_id", request_id];
  if (!facts.found) {
    const what = param === "request_id" ? "request" : "session";
    throw new GatewayError("not_found", `there is no ${what} ${JSON.stringify(id?.slice(0, 80))} for this key`, {
      param,
    });
  }
  if (facts.names >= LEDGER_LIMITS.feedbackNamesMax) {
    const message = `${param} has ${LEDGER_LIMITS.feedbackNamesMax} scores already; use one of their names again`;
    throw new GatewayError("invalid_request", message, { param: "name" });
  }
}
