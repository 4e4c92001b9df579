import { appendFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../core/clock.ts";
import { adoptOrphans } from "./adopt.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import { Consumer } from "./consumer.ts";
import { SegmentTail } from "./segment-tail.ts";
import { type Position, SPOOL_START, spoolRoot } from "./segments.ts";
import { LedgerStore, type Rejected } from "./store.ts";
import type { FromWorker, ToWorker, WorkerData } from "./worker-messages.ts";

/** The ledger's worker thread: it alone writes to the database, so that nothing on the request path waits for it. */
class LedgerWorker {
  readonly #data: WorkerData;
  readonly #port: MessagePort;
  readonly #root: string;
  readonly #tail: SegmentTail;
  readonly #consumer: Consumer;
  #store: LedgerStore | null = null;
  #hurry = false;
  #timer: NodeJS.Timeout | null = null;
  #retryMs = 0;
  #deletedTo = SPOOL_START.segment;
  #adopting: Promise<void> | null = null;

  constructor(data: WorkerData, port: MessagePort) {
    this.#data = data;
    this.#port = port;
    this.#root = spoolRoot(data.dataDir);
    this.#tail = new SegmentTail(join(this.#root, data.instance));
    this.#consumer = new Consumer(this.#tail, data.instance, systemClock, LEDGER_LIMITS.holdMs);
    port.on("message", (message: ToWorker) => this.#receive(message));
    setInterval(() => this.#adopt(), LEDGER_LIMITS.adoptEveryMs);
    this.#adopt();
  }

  #receive(message: ToWorker): void {
    if (message.type === "stop") {
      void this.#stop();
      return;
    }
    this.#tail.extend(message);
    this.#hurry ||= message.hurry;
    if (this.#retryMs === 0) this.#schedule(0);
  }

  #schedule(inMs: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#work(), inMs);
  }

  /** One batch a turn, so that messages are heard in between. */
  #work(): void {
    try {
      const more = this.#step();
      if (this.#retryMs > 0) this.#adopt();
      this.#retryMs = 0;
      if (!more) this.#hurry = false;
      const due = more ? 0 : this.#consumer.dueInMs();
      if (due !== null) this.#schedule(Math.ceil(due));
    } catch (error) {
      this.#schedule(this.#backOff(error));
    }
  }

  #step(): boolean {
    const rejected = this.#consumer.step(this.#open(), this.#hurry);
    if (!rejected) return false;
    this.#keepRejected(rejected);
    this.#report(this.#consumer.position);
    return true;
  }

  #report(position: Position): void {
    if (position.segment > this.#deletedTo) {
      this.#tail.deleteBefore(position);
      this.#deletedTo = position.segment;
    }
    this.#post({ type: "consumed", position });
  }

  #open(): LedgerStore {
    if (!this.#store) {
      this.#store = new LedgerStore(this.#data.path, this.#data.fsync);
      this.#post({ type: "database", ok: true, reason: null });
    }
    return this.#store;
  }

  /** The database is opened anew after a failure: the file may have been replaced. */
  #backOff(error: unknown): number {
    this.#store?.close();
    this.#store = null;
    const { first, max } = LEDGER_LIMITS.retryMs;
    this.#retryMs = Math.min(max, Math.max(first, this.#retryMs * 2));
    this.#post({ type: "database", ok: false, reason: messageOf(error) });
    return this.#retryMs;
  }

  #adopt(): void {
    this.#adopting ??= adoptOrphans({
      root: this.#root,
      own: this.#data.instance,
      clock: systemClock,
      store: () => this.#open(),
      onRejected: (rejected) => this.#keepRejected(rejected),
      onAdopted: (adopted) => this.#post({ type: "adopted", ...adopted }),
    })
      .catch((error: unknown) => {
        if (this.#retryMs === 0) this.#schedule(this.#backOff(error));
      })
      .finally(() => {
        this.#adopting = null;
      });
  }

  /** A dead gateway's spool that is being brought in meanwhile is left to the next start. */
  async #stop(): Promise<void> {
    this.#hurry = true;
    let clean = false;
    try {
      while (this.#step()) await new Promise((resolve) => setImmediate(resolve));
      this.#open().abandonRunning(this.#data.instance);
      this.#store?.close();
      clean = true;
    } catch (error) {
      this.#backOff(error);
    }
    this.#post({ type: "stopped", clean });
    process.exit();
  }

  #keepRejected(rejected: Rejected[]): void {
    const first = rejected[0];
    if (!first) return;
    const path = join(this.#root, "rejected.jsonl");
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const text = rejected.map((one) => `${JSON.stringify(one)}\n`).join("");
    if (size + text.length <= LEDGER_LIMITS.rejectedBytesMax) appendFileSync(path, text, { mode: 0o600 });
    this.#post({ type: "rejected", lines: rejected.length, reason: first.reason });
  }

  #post(message: FromWorker): void {
    this.#port.postMessage(message);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (parentPort) new LedgerWorker(workerData as WorkerData, parentPort);
