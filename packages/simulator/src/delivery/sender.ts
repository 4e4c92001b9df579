import type { ServerResponse } from "node:http";
import { constants, createGzip, type Gzip } from "node:zlib";
import type { Account } from "../records/account.ts";
import type { Delivery, Ending, Piece } from "./delivery.ts";

/** Long enough for the peer to read what was written before a reset throws the rest away. */
const RESET_AFTER_MS = 10;

/** Sends one answer over time. Everything it awaits ends at once when the connection closes. */
export class Sender {
  readonly #res: ServerResponse;
  readonly #delivery: Delivery;
  readonly #account: Account;
  #gone = false;
  #brokenOff = false;
  #usageArrived = false;
  #wake: (() => void) | null = null;
  #pending: (string | Uint8Array)[] = [];
  #pendingBytes = 0;
  #usagePending = false;
  #gzip: Gzip | null = null;

  constructor(res: ServerResponse, delivery: Delivery, account: Account, closing: () => boolean) {
    this.#res = res;
    this.#delivery = delivery;
    this.#account = account;
    res.on("error", () => undefined);
    res.once("close", () => {
      this.#gone = true;
      this.#gzip?.destroy();
      if (!res.writableFinished) account.lost(!this.#brokenOff && !closing(), this.#usageArrived);
      this.#wake?.();
    });
  }

  /** True once the connection has closed. */
  get gone(): boolean {
    return this.#gone;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  head(): void {
    this.#res.writeHead(this.#delivery.status, this.#delivery.headers);
    this.#account.answered(this.#delivery.status);
    this.#res.flushHeaders();
    if (!this.#delivery.gzip) return;
    this.#gzip = createGzip();
    this.#gzip.on("data", (data: Buffer) => this.#res.write(data));
  }

  add(piece: Piece): void {
    this.#pending.push(piece.data);
    this.#pendingBytes += piece.data.length;
    if (piece.output !== undefined) this.#account.generated(piece.output, piece.reasoning ?? 0);
    this.#usagePending ||= piece.reportsUsage === true;
  }

  /** Writes what was added and waits while the peer reads slower than that. */
  async flush(): Promise<void> {
    if (this.#pendingBytes === 0 || this.#gone) return;
    const data = joined(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#write(data);
  }

  /** Waits until `performance.now()` reaches `dueMs`, sending comments when they are asked for. */
  async sleepUntil(dueMs: number, commenting: boolean): Promise<void> {
    const { keepaliveMs, keepalive } = this.#delivery;
    for (;;) {
      const left = dueMs - performance.now();
      if (left <= 0 || this.#gone) return;
      const comments = commenting && keepaliveMs > 0 && keepaliveMs < left;
      await this.#sleep(comments ? keepaliveMs : left);
      if (comments && !this.#gone) await this.#write(keepalive);
    }
  }

  async finish(ending: Ending): Promise<void> {
    if (ending === "stall") return this.sleepUntil(Number.POSITIVE_INFINITY, this.#res.headersSent);
    if (this.#gone) return;
    if (ending === "end") {
      if (this.#gzip !== null) await this.#endGzip(this.#gzip);
      this.#res.end();
      if (this.#delivery.whole) this.#account.finished();
      return;
    }
    if (ending === "reset" && this.#res.headersSent) await this.#sleep(RESET_AFTER_MS);
    // What was written leaves at the end of the tick; a socket that is closed before that throws it away (Node 24).
    else await this.#pause((done) => setImmediate(done));
    this.#brokenOff = true;
    if (ending === "reset") this.#res.socket?.resetAndDestroy();
    else this.#res.socket?.destroySoon();
  }

  async #write(data: string | Uint8Array): Promise<void> {
    if (this.#gzip !== null) return this.#compress(this.#gzip, data);
    const { chunkBytes } = this.#delivery;
    if (chunkBytes === 0) return this.#put(data, this.#usagePending);
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    for (let at = 0; at < bytes.length && !this.#gone; at += chunkBytes) {
      const last = at + chunkBytes >= bytes.length;
      await this.#put(bytes.subarray(at, at + chunkBytes), last && this.#usagePending);
      // Node joins writes of one tick into one segment; a tick apart they leave apart.
      await this.#pause((done) => setImmediate(done));
    }
  }

  async #put(data: string | Uint8Array, withUsage: boolean): Promise<void> {
    if (withUsage) {
      this.#usagePending = false;
      this.#account.usageSent();
    }
    const room = this.#res.write(data, (error) => {
      if (withUsage && error == null) this.#usageArrived = true;
    });
    if (!room) await this.#pause((done) => this.#res.once("drain", done));
  }

  #compress(gzip: Gzip, data: string | Uint8Array): Promise<void> {
    if (this.#usagePending) this.#account.usageSent();
    this.#usagePending = false;
    gzip.write(data);
    return this.#pause((done) => gzip.flush(constants.Z_SYNC_FLUSH, done));
  }

  #endGzip(gzip: Gzip): Promise<void> {
    return this.#pause((done) => {
      gzip.once("end", done);
      gzip.end();
    });
  }

  async #sleep(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await this.#pause((done) => {
      if (Number.isFinite(ms)) timer = setTimeout(done, ms);
    });
    clearTimeout(timer);
  }

  /** Waits for `start` to call back or for the connection to close. */
  #pause(start: (done: () => void) => void): Promise<void> {
    if (this.#gone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      start(resolve);
    });
  }
}

function joined(data: readonly (string | Uint8Array)[]): string | Uint8Array {
  const [only] = data;
  if (data.length === 1 && only !== undefined) return only;
  if (data.every((part) => typeof part === "string")) return data.join("");
  return Buffer.concat(data.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
}
