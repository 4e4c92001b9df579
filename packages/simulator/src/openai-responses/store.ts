import type { JsonObject } from "../json.ts";
import type { Step } from "../wire.ts";

const RESPONSES_MAX = 1000;

/** A response that is kept under its id. */
export interface StoredResponse {
  readonly id: string;
  /** The response while it is worked on, and once it is done. */
  readonly pending: JsonObject;
  readonly done: JsonObject;
  /** The items given with it, with ids. */
  readonly input: readonly JsonObject[];
  /** The whole conversation, its own output included: what a following response continues. */
  readonly items: readonly JsonObject[];
  /** The events it was, or would have been, streamed as. */
  readonly steps: () => readonly Step[];
  readonly background: boolean;
  /** `performance.now()` from which on it is done; infinite = never. */
  readonly doneAtMs: number;
  cancelled: boolean;
}

/** The responses that were not asked to be forgotten; the oldest make room for new ones. */
export class ResponseStore {
  #responses = new Map<string, StoredResponse>();
  #items = new Map<string, JsonObject>();

  put(response: StoredResponse): void {
    if (this.#responses.size >= RESPONSES_MAX) {
      const [oldest] = this.#responses.keys();
      if (oldest !== undefined) this.delete(oldest);
    }
    this.#responses.set(response.id, response);
    for (const item of response.items) if (typeof item.id === "string") this.#items.set(item.id, item);
  }

  get(id: string): StoredResponse | undefined {
    return this.#responses.get(id);
  }

  /** An item of any response that is kept. */
  item(id: string): JsonObject | undefined {
    return this.#items.get(id);
  }

  /** Forgets a response with its own items; tells whether there was one. */
  delete(id: string): boolean {
    const response = this.#responses.get(id);
    if (response === undefined) return false;
    for (const item of response.items) if (typeof item.id === "string") this.#items.delete(item.id);
    return this.#responses.delete(id);
  }

  clear(): void {
    this.#responses = new Map();
    this.#items = new Map();
  }
}

/** A response as it stands at `nowMs`. */
export function standing(response: StoredResponse, nowMs: number): JsonObject {
  if (response.cancelled) return { ...response.pending, status: "cancelled" };
  return nowMs < response.doneAtMs ? response.pending : response.done;
}
