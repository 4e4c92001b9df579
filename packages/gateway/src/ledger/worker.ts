import { appendFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../core/clock.ts";
import { type AdoptOptions, abandonLost, adoptOrphans } from "./adopt.ts";
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
  readonly #troubles = new Set<"spool" | "orphans">();
  #adopting = false;
  #lostAbandoned = false;

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
    this.#setTrouble("spool", null);
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
    this.#store ??= new LedgerStore(this.#data.path, this.#data.fsync);
    return this.#store;
  }

  /** The database is opened anew after a failure: the file may have been replaced. */
  #backOff(error: unknown): number {
    this.#forget();
    const { first, max } = LEDGER_LIMITS.retryMs;
    this.#retryMs = Math.min(max, Math.max(first, this.#retryMs * 2));
    this.#setTrouble("spool", messageOf(error));
    return this.#retryMs;
  }

  #forget(): void {
    this.#store?.close();
    this.#store = null;
  }

  /** Tells the gateway when the first trouble begins and when the last one is over. */
  #setTrouble(where: "spool" | "orphans", reason: string | null): void {
    const before = this.#troubles.size;
    if (reason === null) this.#troubles.delete(where);
    else this.#troubles.add(where);
    if (before > 0 !== this.#troubles.size > 0) this.#post({ type: "trouble", reason });
  }

  #adopt(): void {
    if (this.#adopting) return;
    this.#adopting = true;
    void this.#adoptAll()
      .then(() => this.#setTrouble("orphans", null))
      .catch((error: unknown) => {
        this.#forget();
        this.#setTrouble("orphans", messageOf(error));
        setTimeout(() => this.#adopt(), LEDGER_LIMITS.adoptRetryMs);
      })
      .finally(() => {
        this.#adopting = false;
      });
  }

  async #adoptAll(): Promise<void> {
    const options: AdoptOptions = {
      root: this.#root,
      own: this.#data.instance,
      clock: systemClock,
      store: () => this.#open(),
      onRejected: (rejected) => this.#keepRejected(rejected),
      onAdopted: (adopted) => this.#post({ type: "adopted", ...adopted }),
    };
    await adoptOrphans(options);
    if (this.#lostAbandoned) return;
    // Once a start: two gateways of different data dirs may share a database, and each would see the other's as lost.
    abandonLost(options);
    this.#lostAbandoned = true;
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
    const text = rejected.map((one) => `${JSON.stringify(one)}\n`).join("");
    try {
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (size + text.length <= LEDGER_LIMITS.rejectedBytesMax) appendFileSync(path, text, { mode: 0o600 });
    } catch {
      // They are counted and told of below; the lines after them matter more.
    }
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
