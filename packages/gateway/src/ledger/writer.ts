import { join, resolve } from "node:path";
import type { AttemptRow, FeedbackRow, RequestRow } from "@sluicegate/contract";
import type { LedgerConfig } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import { newId } from "../core/ids.ts";
import type { Random } from "../core/random.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import { feedbackLine } from "./feedback-line.ts";
import { LeanLines } from "./lean-line.ts";
import type { Admission, LedgerWriter } from "./ledger.ts";
import type { LedgerLog } from "./ledger-log.ts";
import { createOwned, type OwnedDirectory } from "./owner-lock.ts";
import { type Position, reached, SPOOL_START, spoolRoot } from "./segments.ts";
import { Spool } from "./spool.ts";
import { settlementLine } from "./spool-line.ts";
import { isBusy, openSqlite } from "./sqlite.ts";
import { WorkerLink } from "./worker-link.ts";

/** What a ledger is opened with. */
export interface LedgerOptions {
  /** Holds the spool, and the database unless `path` says otherwise. Made when missing. */
  dataDir: string;
  /** The database file; null: `<dataDir>/ledger.sqlite`. */
  path?: string | null;
  fsync: boolean;
  spool: LedgerConfig["spool"];
  clock: Clock;
  random: Random;
  log?: LedgerLog;
  /** How the spool file is written: a test puts a full disk here. */
  write?: (fd: number, bytes: Buffer) => number;
}

/** The writer the gateway holds. */
export interface Ledger extends LedgerWriter {
  /** Rows that are in no file and no database: the spool was full and told to drop, or disk and memory were. */
  droppedRows(): number;
}

/** File of the ledger's database. */
export function ledgerPath(dataDir: string, path?: string | null): string {
  return resolve(path ?? join(dataDir, "ledger.sqlite"));
}

/**
 * Opens the ledger for writing and starts its worker; spools that dead gateways left in `dataDir` are brought in.
 * A database that is locked is no reason not to start. Throws when the data dir or the database file cannot be used,
 * or was written by a newer build.
 */
export function openLedger(options: LedgerOptions): Ledger {
  const path = ledgerPath(options.dataDir, options.path);
  try {
    openSqlite(path, { busyTimeoutMs: LEDGER_LIMITS.startTimeoutMs, durable: false }).close();
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
  const instance = newId("gw", options.clock, options.random);
  return new SpoolingLedger(options, path, instance, createOwned(spoolRoot(options.dataDir), instance));
}

interface Waiter {
  /** Null until all that it waits for has been written. */
  target: Position | null;
  done: () => void;
}

class SpoolingLedger implements Ledger {
  readonly #options: LedgerOptions;
  readonly #log: LedgerLog;
  readonly #directory: OwnedDirectory;
  readonly #spool: Spool;
  readonly #link: WorkerLink;
  /** Requests whose admission is in the spool, with the lines lost by then: their settlement always goes in too. */
  readonly #admitted = new Map<string, number>();
  readonly #lines = new LeanLines();
  readonly #flushAtExit = () => this.#spool.flush();
  #consumed: Position = SPOOL_START;
  #waiters: Waiter[] = [];
  #dropped = 0;
  #dropping = false;
  #closed: Promise<void> | null = null;

  constructor(options: LedgerOptions, path: string, instance: string, directory: OwnedDirectory) {
    const { dataDir, fsync, clock, spool, log } = options;
    this.#options = options;
    this.#log = log ?? (() => {});
    this.#directory = directory;
    this.#spool = new Spool({
      directory: directory.path,
      fsync,
      clock,
      segmentBytes: segmentBytesFor(spool.maxBytes),
      onWritten: () => {
        this.#wake();
        this.#link.notify();
      },
      onFailing: (error) => this.#spoolFailing(error),
      ...(options.write && { write: options.write }),
    });
    this.#link = new WorkerLink({
      data: { dataDir, path, instance, fsync },
      clock,
      log: this.#log,
      end: () => this.#spool.end,
      onConsumed: (position) => this.#consume(position),
    });
    process.once("exit", this.#flushAtExit);
  }

  accepting(): boolean {
    if (this.#closed) return false;
    return this.#options.spool.onFull === "drop" || !(this.#spool.failing || this.#full());
  }

  admit(admission: Admission): Promise<void> {
    if (this.#refuses()) {
      this.#drop();
      return Promise.resolve();
    }
    this.#admitted.set(admission.row.request_id, this.#spool.dropped);
    this.#spool.append(() => this.#lines.admission(admission));
    return this.#spool.written();
  }

  settle(row: RequestRow, attempts: AttemptRow[]): void {
    const droppedBefore = this.#admitted.get(row.request_id);
    if (droppedBefore !== undefined) {
      this.#admitted.delete(row.request_id);
      this.#spool.append(() =>
        // A line that was lost since may be its admission.
        this.#spool.dropped === droppedBefore ? this.#lines.settlement(row, attempts) : settlementLine(row, attempts),
      );
    } else if (this.#refuses()) {
      this.#drop();
    } else {
      this.#spool.append(() => settlementLine(row, attempts));
    }
  }

  record(row: RequestRow): void {
    if (this.#closed || this.#full()) this.#drop();
    else this.#spool.append(() => settlementLine(row, []));
  }

  score(row: FeedbackRow): void {
    if (this.#closed || this.#full()) this.#drop();
    else this.#spool.append(() => feedbackLine(row));
  }

  spooledRows(): number {
    return this.#spool.unconsumedLines;
  }

  droppedRows(): number {
    return this.#dropped + this.#spool.dropped;
  }

  state(): "ok" | "degraded" | "down" {
    if (this.#spool.failing) return "down";
    return this.#link.ok && !this.#full() ? "ok" : "degraded";
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#spool.flush();
    this.#link.hurry();
    const { clock } = this.#options;
    this.#link.keepAlive(true);
    try {
      await new Promise<void>((done, fail) => {
        const waiter: Waiter = { target: null, done };
        const timer = clock.after(timeoutMs, () => {
          this.#waiters = this.#waiters.filter((other) => other !== waiter);
          fail(new Error(`${this.spooledRows()} rows are still in the spool after ${timeoutMs} ms`));
        });
        waiter.done = () => {
          timer.cancel();
          done();
        };
        this.#waiters.push(waiter);
        this.#wake();
      });
    } finally {
      this.#link.keepAlive(false);
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    process.off("exit", this.#flushAtExit);
    await this.drain(LEDGER_LIMITS.closeMs).catch((error: unknown) => {
      this.#log("warn", "ledger closed before all rows were in the database", { reason: String(error) });
    });
    this.#spool.close();
    const clean = await this.#link.stop();
    if (clean && this.#spool.settled) this.#directory.remove();
    this.#directory.release();
  }

  #consume(position: Position): void {
    // A worker that was restarted begins again at the oldest segment.
    if (!reached(position, this.#consumed)) return;
    this.#consumed = position;
    this.#spool.consume(position);
    if (this.#dropping && !this.#full()) this.#dropping = false;
    this.#wake();
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.target && this.#spool.settled) waiter.target = this.#spool.end;
      if (!waiter.target || !reached(this.#consumed, waiter.target)) continue;
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
      waiter.done();
    }
  }

  #full(): boolean {
    return this.#spool.unconsumedBytes >= this.#options.spool.maxBytes;
  }

  #refuses(): boolean {
    return this.#closed !== null || (this.#options.spool.onFull === "drop" && this.#full());
  }

  #drop(): void {
    this.#dropped++;
    if (this.#dropping) return;
    this.#dropping = true;
    this.#log("error", "ledger spool is full: rows are dropped", { max_bytes: this.#options.spool.maxBytes });
  }

  #spoolFailing(error: unknown): void {
    if (error) this.#log("error", "ledger spool cannot be written", { reason: String(error) });
    else this.#log("info", "ledger spool is written again", {});
  }
}

function segmentBytesFor(maxBytes: number): number {
  const { segmentBytes, segmentBytesMin } = LEDGER_LIMITS;
  return Math.max(segmentBytesMin, Math.min(segmentBytes, Math.floor(maxBytes / 4)));
}
