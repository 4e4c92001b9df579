import type { IncomingHttpHeaders } from "node:http";
import { Ring } from "./ring.ts";

const MODELS_MAX = 10_000;
const BODY_BYTES_KEPT_MAX = 256 * 1024;

/** One call as it arrived. */
export interface Hit {
  readonly n: number;
  readonly request_id: string;
  /** Unix milliseconds. */
  readonly at_ms: number;
  readonly method: string;
  readonly path: string;
  /** The model as asked; null where the call named none. */
  readonly model: string | null;
  readonly stream: boolean;
  readonly headers: IncomingHttpHeaders;
  /** The parsed JSON body; null when there was none, it was no JSON or it was larger than 256 KiB. */
  body: unknown;
  readonly body_bytes: number;
  /** HTTP status sent, 0 while or when none was. */
  status: number;
}

/** How often the simulator was called, and the latest calls, oldest first. */
export interface RequestReport {
  total: number;
  by_model: Record<string, number>;
  recent: Hit[];
}

/** Counts the calls and keeps the latest. */
export class Requests {
  readonly #recent: Ring<Hit>;
  #total = 0;
  #byModel = new Map<string, number>();

  constructor(recentMax: number) {
    this.#recent = new Ring(recentMax);
  }

  /** Counts a call and keeps it; its body only when it is small enough. */
  note(hit: Hit): void {
    this.#total += 1;
    if (hit.body_bytes > BODY_BYTES_KEPT_MAX) hit.body = null;
    this.#recent.push(hit);
    if (hit.model === null) return;
    const seen = this.#byModel.get(hit.model);
    if (seen !== undefined || this.#byModel.size < MODELS_MAX) this.#byModel.set(hit.model, (seen ?? 0) + 1);
  }

  report(): RequestReport {
    return {
      total: this.#total,
      by_model: Object.fromEntries(this.#byModel),
      recent: this.#recent.toArray().map((hit) => ({ ...hit })),
    };
  }

  reset(): void {
    this.#recent.clear();
    this.#total = 0;
    this.#byModel = new Map();
  }
}
