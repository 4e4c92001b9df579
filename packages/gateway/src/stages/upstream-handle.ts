import type { UpstreamCall } from "../core/transport.ts";

/**
 * An attempt's hold on its upstream call. The transport may call back before `send` has returned, and may be done before
 * anybody lets go: what is asked of the call is done as soon as it can be, once, and not after it is over.
 */
export class UpstreamHandle {
  #call: UpstreamCall | null = null;
  #state: "open" | "aborted" | "over" = "open";
  #paused = false;

  /** Neither ended by the upstream nor aborted. */
  get open(): boolean {
    return this.#state === "open";
  }

  /** What `send` returned. */
  give(call: UpstreamCall): void {
    this.#call = call;
    if (this.#state === "aborted") call.abort();
    else if (this.#state === "open" && this.#paused) call.pause();
  }

  /** The upstream has ended it, well or not. */
  over(): void {
    if (this.#state === "open") this.#state = "over";
  }

  abort(): void {
    if (this.#state !== "open") return;
    this.#state = "aborted";
    this.#call?.abort();
  }

  /** Stops reading, or goes on; saying it again does nothing. */
  throttle(paused: boolean): void {
    if (this.#state !== "open" || this.#paused === paused) return;
    this.#paused = paused;
    if (paused) this.#call?.pause();
    else this.#call?.resume();
  }
}
