import { fdatasync } from "node:fs";
import type { Clock, Timer } from "../core/clock.ts";
import { LEDGER_LIMITS } from "./bounds.ts";

/** What a FileSync needs. */
export interface FileSyncOptions {
  /** The file that is written now; null when there is none. A file closed meanwhile was synced by who closed it. */
  fd: () => number | null;
  clock: Clock;
  /** Called at the first of a row of failures, and with null when they are over. */
  onFailing: (error: Error | null) => void;
}

/** Brings a file to the disk off the event loop, one sync at a time: those who come meanwhile share the next one. */
export class FileSync {
  readonly #options: FileSyncOptions;
  #running = false;
  #waiters: (() => void)[] = [];
  #failing = false;
  #retry: Timer | null = null;

  constructor(options: FileSyncOptions) {
    this.#options = options;
  }

  /** True while the disk refuses. */
  get failing(): boolean {
    return this.#failing;
  }

  /** Calls `done` when all that is written by now is on the disk, or has been refused by it. */
  sync(done: () => void): void {
    this.#waiters.push(done);
    if (!this.#running) this.#run();
  }

  close(): void {
    this.#retry?.cancel();
  }

  #run(): void {
    const fd = this.#options.fd();
    const waiters = this.#waiters;
    this.#waiters = [];
    const finish = (error: Error | null) => {
      this.#running = false;
      if (fd === this.#options.fd()) this.#finished(error);
      for (const waiter of waiters) waiter();
      if (this.#waiters.length > 0) this.#run();
    };
    this.#running = true;
    if (fd === null) finish(null);
    else fdatasync(fd, finish);
  }

  #finished(error: Error | null): void {
    if ((error !== null) !== this.#failing) this.#options.onFailing(error);
    this.#failing = error !== null;
    if (error) {
      this.#retry ??= this.#options.clock.after(LEDGER_LIMITS.retryMs.max, () => {
        this.#retry = null;
        this.sync(() => {});
      });
    }
  }
}
