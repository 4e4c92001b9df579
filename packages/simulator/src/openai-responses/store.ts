import type { JsonObject } from "../json.ts";
import type { Step } from "../wire.ts";

const RESPONSES_MAX = 1000;
/** Of all together, about; the latest is kept whatever its size. */
const BYTES_MAX = 64 * 1024 * 1024;
/** What an object or a list takes besides its texts, about. */
const OBJECT_BYTES = 96;

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
  #sizes = new Map<string, number>();
  #bytes = 0;

  put(response: StoredResponse): void {
    const bytes = sizeOf([response.items, response.done]);
    for (const oldest of this.#responses.keys()) {
      if (this.#responses.size < RESPONSES_MAX && this.#bytes + bytes <= BYTES_MAX) break;
      this.delete(oldest);
    }
    this.#responses.set(response.id, response);
    this.#sizes.set(response.id, bytes);
    this.#bytes += bytes;
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
    this.#bytes -= this.#sizes.get(id) ?? 0;
    this.#sizes.delete(id);
    return this.#responses.delete(id);
  }

  clear(): void {
    this.#responses = new Map();
    this.#items = new Map();
    this.#sizes = new Map();
    this.#bytes = 0;
  }
}

/** Bytes that a JSON value takes in memory, about. */
function sizeOf(value: unknown): number {
  let bytes = 0;
  const left: unknown[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === "string") bytes += one.length;
    else if (typeof one === "object" && one !== null) {
      bytes += OBJECT_BYTES;
      for (const member of Object.values(one)) left.push(member);
    }
  }
  return bytes;
}

/** A response as it stands at `nowMs`. */
export function standing(response: StoredResponse, nowMs: number): JsonObject {
  if (response.cancelled) return { ...response.pending, status: "cancelled" };
  return nowMs < response.doneAtMs ? response.pending : response.done;
}
