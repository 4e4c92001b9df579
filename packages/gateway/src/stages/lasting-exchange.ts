import { Cancel } from "../core/cancel.ts";
import { HeldBytes } from "../core/held-bytes.ts";
import type { Exchange, RequestBody, TextEncoding } from "../http/exchange.ts";

/** What a client was sent: enough to send it again. */
export interface Recording {
  status: number;
  /** Flat: name, value. */
  headers: readonly string[];
  body: Buffer;
}

/**
 * A client's exchange that outlives the client: what is sent is kept, up to `bytesMax`, and goes on to the client as long as
 * that is there. Its cancellation is not the client's: the work is done to its end, or the gateway's.
 */
export class LastingExchange implements Exchange {
  readonly cancel = new Cancel();
  readonly #client: Exchange;
  readonly #bytesMax: number;
  #head: { status: number; headers: readonly string[] } | null = null;
  /** In one piece: a stream's events are small, and each alone would hold on to more than it is. */
  #body: HeldBytes | null = new HeldBytes();
  #onDrain: (() => void) | null = null;

  readonly #forget: () => void;

  constructor(client: Exchange, bytesMax: number, ending: Cancel) {
    this.#client = client;
    this.#bytesMax = bytesMax;
    client.cancel.onCancel((reason) => {
      if (reason !== "client_left") return this.cancel.cancel(reason);
      // Nobody is behind any more.
      this.#onDrain?.();
    });
    this.#forget = ending.onCancel((reason) => this.cancel.cancel(reason));
  }

  /** The work is over. */
  close(): void {
    this.#forget();
  }

  get request(): RequestBody {
    return this.#client.request;
  }

  get method(): string {
    return this.#client.method;
  }

  get path(): string {
    return this.#client.path;
  }

  get query(): string {
    return this.#client.query;
  }

  get headSent(): boolean {
    return this.#head !== null || this.#client.headSent;
  }

  /** What was sent; null: nothing yet, or more than is kept. */
  recording(): Recording | null {
    if (!this.#head || !this.#body) return null;
    return { ...this.#head, body: Buffer.from(this.#body.view) };
  }

  header(name: string): string | undefined {
    return this.#client.header(name);
  }

  sends(prefix: string): boolean {
    return this.#client.sends(prefix);
  }

  askForBody(): void {
    this.#client.askForBody();
  }

  later(act: () => void): void {
    this.#client.later(act);
  }

  respond(status: number, headers: readonly string[], body: Buffer | string, encoding: TextEncoding = "utf8"): void {
    if (this.headSent) return;
    this.#head = { status, headers };
    this.#keep(typeof body === "string" ? Buffer.from(body, encoding) : body);
    this.#client.respond(status, headers, body, encoding);
  }

  begin(status: number, headers: readonly string[]): void {
    this.#head ??= { status, headers };
    this.#client.begin(status, headers);
  }

  write(bytes: Buffer): boolean {
    this.#keep(bytes);
    return this.#client.cancel.cancelled || this.#client.write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
    this.#client.onDrain(listener);
  }

  end(bytes?: Buffer): void {
    if (bytes) this.#keep(bytes);
    this.#client.end(bytes);
  }

  destroy(): void {
    this.#client.destroy();
  }

  #keep(bytes: Buffer): void {
    if (!this.#body) return;
    if (this.#body.length + bytes.length > this.#bytesMax) this.#body = null;
    else this.#body.add(bytes, 0, bytes.length);
  }
}
