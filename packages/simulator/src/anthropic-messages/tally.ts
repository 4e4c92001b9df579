import type { HeardKind } from "../models/mirror.ts";
import { tokensOfBytes } from "../models/text.ts";
import { wrong } from "./refusals.ts";

/** What one image or document is counted as. */
const MEDIA_TOKENS = 85;
const MARKS_MAX = 4;

/** A tool result as it was sent. */
export interface Result {
  readonly id: string;
  readonly text: string;
  readonly error: boolean;
}

/** What is gathered while a request is read, in the order of a prompt: tools, system, messages. */
export class Tally {
  readonly images: string[] = [];
  readonly results: Result[] = [];
  readonly calls: { id: string; name: string; arguments: unknown }[] = [];
  readonly messages: { role: string; kinds: HeardKind[] }[] = [];
  #bytes = 0;
  #media = 0;
  #marks = 0;
  #shortMarked = false;

  get tokens(): number {
    return tokensOfBytes(this.#bytes) + this.#media * MEDIA_TOKENS;
  }

  get marks(): number {
    return this.#marks;
  }

  text(text: string): string {
    this.#bytes += Buffer.byteLength(text);
    return text;
  }

  media(): void {
    this.#media += 1;
  }

  /** Counts a cache marker; one that lives for an hour may not stand behind one that lives for five minutes. */
  mark(ttl: unknown, at: string): void {
    this.#marks += 1;
    if (ttl === "1h" && this.#shortMarked) {
      wrong(`${at}.ttl`, "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block");
    }
    if (ttl !== "1h") this.#shortMarked = true;
  }

  /** Refuses more cache markers than Anthropic takes. */
  checkMarks(): void {
    if (this.#marks <= MARKS_MAX) return;
    wrong("", `A maximum of ${MARKS_MAX} blocks with cache_control may be provided. Found ${this.#marks}.`);
  }
}
