import type { Clock, Timer } from "../core/clock.ts";
import type { Random } from "../core/random.ts";
import type { Transport } from "../core/transport.ts";
import type { Log } from "../telemetry/log.ts";
import { ALERT_BOUNDS } from "./bounds.ts";
import { type Posting, type PostOutcome, post } from "./post.ts";

/** What deliveries stand on. */
export interface DeliveryParts {
  clock: Clock;
  random: Random;
  transport: Transport;
  log: Pick<Log, "info" | "warn">;
}

/**
 * The way to one webhook: messages go out one after the other, each tried a few times, so that a recovery never arrives
 * before what it is the end of. Nobody waits for it, and a webhook that is dead costs a bounded queue and no more.
 */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #url: URL;
  readonly #pool: string;
  readonly #waiting: Buffer[] = [];
  #current: { body: Buffer; tries: number } | null = null;
  #posting: Posting | null = null;
  #retry: Timer | null = null;
  #losing = false;
  #closed = false;

  /** `pool` names its connection, which it shares with nobody. Throws for a URL that is none. */
  constructor(parts: DeliveryParts, url: string, pool: string) {
    this.#parts = parts;
    this.#url = new URL(url);
    this.#pool = pool;
  }

  /** Messages that have not arrived, the one on its way included. */
  get pending(): number {
    return this.#waiting.length + (this.#current ? 1 : 0);
  }

  /** Takes a message and returns at once. */
  push(body: Buffer): void {
    if (this.#closed) return;
    this.#waiting.push(body);
    if (this.#waiting.length > ALERT_BOUNDS.queueMax) {
      this.#waiting.shift();
      this.#lost("more wait for it than are kept");
    }
    this.#next();
  }

  /** Ends it; what has not arrived never will. */
  close(): void {
    this.#closed = true;
    this.#waiting.length = 0;
    this.#current = null;
    this.#retry?.cancel();
    this.#posting?.abort();
  }

  #next(): void {
    if (this.#current) return;
    const body = this.#waiting.shift();
    if (!body) return;
    this.#current = { body, tries: 0 };
    this.#try();
  }

  #try(): void {
    if (!this.#current) return;
    this.#current.tries++;
    const { body } = this.#current;
    // A transport may answer before it returns: then there is nothing left to abort.
    let isOver = false;
    const posting = post(this.#parts, { url: this.#url, pool: this.#pool, body }, (outcome) => {
      isOver = true;
      this.#posting = null;
      this.#posted(outcome);
    });
    if (!isOver) this.#posting = posting;
  }

  #posted(outcome: PostOutcome): void {
    if (!this.#current) return;
    const waitMs = ALERT_BOUNDS.retryMs[this.#current.tries - 1];
    if (outcome === "failed" && waitMs !== undefined) {
      const jitter = 0.5 + this.#parts.random.float() / 2;
      this.#retry = this.#parts.clock.after(waitMs * jitter, () => this.#try());
      return;
    }
    if (outcome === "taken") this.#arrived();
    else this.#lost(outcome === "refused" ? "it refuses them" : "it does not take them");
    this.#current = null;
    this.#next();
  }

  #arrived(): void {
    if (this.#losing) this.#parts.log.info("alerts arrive again", { target: this.#url.host });
    this.#losing = false;
  }

  /** Told once for a row of losses. Of the URL only the host: its path is a secret. */
  #lost(cause: string): void {
    if (!this.#losing) this.#parts.log.warn("alerts are lost", { target: this.#url.host, cause });
    this.#losing = true;
  }
}
