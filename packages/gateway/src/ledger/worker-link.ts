import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../core/clock.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { LedgerLog } from "./ledger-log.ts";
import type { Position } from "./segments.ts";
import type { FromWorker, ToWorker, WorkerData } from "./worker-messages.ts";
import { workerUrl } from "./worker-url.ts";

/** What the gateway's side of the worker needs. */
export interface WorkerLinkOptions {
  data: WorkerData;
  clock: Clock;
  log: LedgerLog;
  /** The end of what is spooled. */
  end: () => Position;
  onConsumed: (position: Position) => void;
}

/** Keeps the ledger's worker running and tells it of new lines, at most every 250 ms. */
export class WorkerLink {
  readonly #options: WorkerLinkOptions;
  #worker: Worker;
  #notice: Timer | null = null;
  #restart: Timer | null = null;
  #restartMs = 0;
  #databaseOk = true;
  #workerOk = true;
  #stopped: ((clean: boolean) => void) | null = null;
  #keptAlive = 0;

  constructor(options: WorkerLinkOptions) {
    this.#options = options;
    this.#worker = this.#start();
  }

  /** False while the worker or its database is in trouble: rows stay in the spool. */
  get ok(): boolean {
    return this.#databaseOk && this.#workerOk;
  }

  /** There are new lines; the worker hears of them within 250 ms. */
  notify(): void {
    this.#notice ??= this.#options.clock.after(LEDGER_LIMITS.noticeMs, () => this.#tell(false));
  }

  /** Tells the worker at once, and not to wait for settlements. */
  hurry(): void {
    this.#tell(true);
  }

  /** While kept alive the process does not end for want of work. */
  keepAlive(on: boolean): void {
    this.#keptAlive += on ? 1 : -1;
    if (this.#keptAlive > 0) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Ends the worker. True when the whole spool is in the database. */
  async stop(): Promise<boolean> {
    this.#restart?.cancel();
    this.#notice?.cancel();
    this.keepAlive(true);
    const clean = await new Promise<boolean>((resolve) => {
      const giveUp = this.#options.clock.after(LEDGER_LIMITS.workerStopMs, () => resolve(false));
      this.#stopped = (answer) => {
        giveUp.cancel();
        resolve(answer);
      };
      this.#tell(true);
      this.#post({ type: "stop" });
      if (!this.#workerOk) this.#stopped(false);
    });
    await this.#worker.terminate();
    return clean;
  }

  #start(): Worker {
    const worker = new Worker(workerUrl("worker"), { workerData: this.#options.data, execArgv: [], name: "ledger" });
    worker.on("online", () => {
      this.#workerOk = true;
      this.#databaseOk = true;
    });
    worker.on("message", (message: FromWorker) => this.#receive(message));
    worker.on("error", (error) => this.#options.log("error", "ledger worker failed", { reason: String(error) }));
    worker.on("exit", () => this.#exited(worker));
    if (this.#keptAlive === 0) worker.unref();
    return worker;
  }

  #exited(worker: Worker): void {
    if (worker !== this.#worker) return;
    this.#workerOk = false;
    this.#stopped?.(false);
    if (this.#stopped) return;
    const { first, max } = LEDGER_LIMITS.retryMs;
    this.#restartMs = Math.min(max, Math.max(first, this.#restartMs * 2));
    this.#restart = this.#options.clock.after(this.#restartMs, () => {
      this.#worker = this.#start();
      this.#tell(false);
    });
  }

  #receive(message: FromWorker): void {
    const { log } = this.#options;
    if (message.type === "consumed") {
      this.#restartMs = 0;
      this.#options.onConsumed(message.position);
    } else if (message.type === "trouble") {
      this.#databaseOk = message.reason === null;
      if (this.#databaseOk) log("info", "ledger database takes rows again", {});
      else log("warn", "ledger database takes no rows; they stay in the spool", { reason: message.reason });
    } else if (message.type === "adopted") {
      const { instance, lines, abandoned } = message;
      log("info", "brought in the spool of a gateway that died", { instance, lines, abandoned });
    } else if (message.type === "rejected") {
      log("error", "ledger lines left out; see spool/rejected.jsonl", { lines: message.lines, reason: message.reason });
    } else {
      this.#stopped?.(message.clean);
    }
  }

  #tell(hurry: boolean): void {
    this.#notice?.cancel();
    this.#notice = null;
    const { segment, bytes } = this.#options.end();
    this.#post({ type: "notice", segment, bytes, hurry });
  }

  #post(message: ToWorker): void {
    this.#worker.postMessage(message);
  }
}
