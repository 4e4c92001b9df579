import type { Clock } from "../core/clock.ts";
import { ownBytes } from "../core/own-bytes.ts";
import { STATE_BOUNDS } from "./bounds.ts";
import type { Claim, ReplayRun, Replays } from "./state.ts";
import { Watchers } from "./watchers.ts";

interface Entry {
  bodyHash: string;
  until: number;
  answer: Buffer | null;
}

/** Answers kept within one process. */
export class LocalReplays implements Replays {
  readonly #clock: Clock;
  /** In the order they were claimed or completed: at a bound the oldest answers go. */
  readonly #entries = new Map<string, Entry>();
  readonly #watchers = new Watchers();
  #bytes = 0;
  #looking = false;
  #sweeping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes of the answers that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  async claim(key: string, bodyHash: string, leaseMs: number): Promise<Claim> {
    const found = this.find(key);
    if (found) return found;
    const entry: Entry = { bodyHash, until: this.#clock.monotonic() + leaseMs, answer: null };
    this.#put(key, entry);
    return { state: "mine", run: this.#run(key, entry) };
  }

  /** What a key is here, without claiming it; null: nothing is known of it. */
  find(key: string): Exclude<Claim, { state: "mine" }> | null {
    const entry = this.#entries.get(key);
    if (!entry || entry.until <= this.#clock.monotonic()) return null;
    const { bodyHash, answer } = entry;
    return answer ? { state: "done", bodyHash, answer } : { state: "running", bodyHash };
  }

  /** Keeps an answer that was made under another claim. */
  keep(key: string, bodyHash: string, answer: Buffer, ttlMs: number): void {
    if (answer.byteLength > STATE_BOUNDS.replayBytesMax) return;
    this.#put(key, { bodyHash, until: this.#clock.monotonic() + ttlMs, answer: ownBytes(answer) });
    this.#sweepLater();
  }

  watch(key: string, fn: () => void): () => void {
    const end = this.#watchers.add(key, fn);
    queueMicrotask(() => this.#check(key));
    this.#look();
    return end;
  }

  #run(key: string, entry: Entry): ReplayRun {
    // A claim that ran out and was made anew is another's: only the entry itself says whose it is.
    const mine = (): boolean => this.#entries.get(key) === entry && entry.answer === null;
    const forget = (): void => {
      if (!mine()) return;
      this.#drop(key);
      this.#watchers.fire(key);
    };
    return {
      renew: (leaseMs) => {
        if (mine()) entry.until = this.#clock.monotonic() + leaseMs;
      },
      complete: (answer, ttlMs) => {
        if (answer.byteLength > STATE_BOUNDS.replayBytesMax) return forget();
        if (!mine()) return;
        this.keep(key, entry.bodyHash, answer, ttlMs);
        this.#watchers.fire(key);
      },
      forget,
    };
  }

  #put(key: string, entry: Entry): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    this.#bytes += entry.answer?.byteLength ?? 0;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= STATE_BOUNDS.replaysMax && this.#bytes <= STATE_BOUNDS.replayBytesTotalMax) break;
      this.#drop(oldest);
      this.#watchers.fire(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.answer?.byteLength ?? 0;
    this.#entries.delete(key);
  }

  #check(key: string): void {
    if (this.find(key)?.state !== "running") this.#watchers.fire(key);
  }

  /** Lets go of answers whose time is over, as long as there are any. */
  #sweepLater(): void {
    if (this.#sweeping || this.#bytes === 0) return;
    this.#sweeping = true;
    this.#clock.after(STATE_BOUNDS.replaySweepMs, () => {
      this.#sweeping = false;
      const now = this.#clock.monotonic();
      for (const [key, { answer, until }] of this.#entries) if (answer && until <= now) this.#drop(key);
      this.#sweepLater();
    });
  }

  /** A claim whose runner is gone runs out in silence: watched keys are looked at while there are any. */
  #look(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#clock.after(STATE_BOUNDS.watchEveryMs, () => {
      this.#looking = false;
      for (const key of this.#watchers.keys()) this.#check(key);
      if (this.#watchers.keys().length > 0) this.#look();
    });
  }
}
