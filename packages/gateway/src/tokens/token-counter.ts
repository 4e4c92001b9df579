import { Worker } from "node:worker_threads";
import type { Cancel } from "../core/cancel.ts";
import { GatewayError } from "../core/errors.ts";
import { workerUrl } from "../core/worker-url.ts";
import { TOKEN_LIMITS } from "./bounds.ts";
import type { CountAnswer, CountCall } from "./messages.ts";
import { slicesOf } from "./slices.ts";

/** Counts tokens exactly, with the o200k tokenizer, away from the event loop. */
export interface TokenCounter {
  /**
   * Tokens of the texts, each counted by itself. Rejects with request_too_large over 4 M characters, overloaded when too much
   * waits already, cancelled when the client leaves or the counter is closed.
   */
  count(texts: readonly string[], cancel: Cancel): Promise<number>;
  close(): Promise<void>;
}

/** Opens a counter; its thread starts with the first question, and anew after a crash. */
export function openTokenCounter(): TokenCounter {
  return new CounterThread();
}

/** One request: its slices are counted in turn with those of the others, so that a short one waits for no long one. */
interface Job {
  /** Texts of one slice each, last first. */
  left: string[][];
  chars: number;
  tokens: number;
  finish: (error: Error | null) => void;
}

/**
 * Even a few KB can take a noticeable while (a slice of rare characters 0.3 s), and the tokenizer's tables some 100 MB to
 * load: nothing of it happens on the event loop.
 */
class CounterThread implements TokenCounter {
  /** In the order of their turns; the first one's slice is being counted when `#running` is set. */
  readonly #jobs: Job[] = [];
  #running: { id: number; job: Job } | null = null;
  #waitingChars = 0;
  #worker: Worker | null = null;
  #lastId = 0;
  #closed = false;

  count(texts: readonly string[], cancel: Cancel): Promise<number> {
    const chars = texts.reduce((sum, text) => sum + text.length, 0);
    const refused = this.#refusal(chars);
    if (refused) return Promise.reject(refused);
    if (chars === 0) return Promise.resolve(0);
    return new Promise((resolve, reject) => {
      let forget = (): void => {};
      let open = true;
      const job: Job = {
        left: batchesOf(texts).reverse(),
        chars,
        tokens: 0,
        finish: (error) => {
          if (!open) return;
          open = false;
          forget();
          this.#leave(job);
          if (error) reject(error);
          else resolve(job.tokens);
        },
      };
      this.#jobs.push(job);
      this.#waitingChars += chars;
      forget = cancel.onCancel(() => job.finish(gone("the client left")));
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of [...this.#jobs]) job.finish(gone("the gateway is shutting down"));
    await this.#worker?.terminate();
  }

  #refusal(chars: number): GatewayError | null {
    const { requestCharsMax, waitingMax, waitingCharsMax } = TOKEN_LIMITS;
    if (this.#closed) return gone("the gateway is shutting down");
    if (chars > requestCharsMax) {
      const message = `the texts to count have ${chars} characters, the limit is ${requestCharsMax}; count them in parts`;
      return new GatewayError("request_too_large", message, { limit: requestCharsMax, used: chars });
    }
    if (this.#jobs.length < waitingMax && this.#waitingChars + chars <= waitingCharsMax) return null;
    return new GatewayError("overloaded", "too many token counts are waiting; ask again in a while", {
      retryAfterMs: 1_000,
    });
  }

  #leave(job: Job): void {
    const at = this.#jobs.indexOf(job);
    if (at === -1) return;
    this.#jobs.splice(at, 1);
    this.#waitingChars -= job.chars;
  }

  /** Gives the thread the next slice of whose turn it is. A job that was called off has left the queue. */
  #next(): void {
    if (this.#running) return;
    const job = this.#jobs.shift();
    if (!job) return this.#worker?.unref();
    this.#jobs.push(job);
    this.#worker ??= this.#start();
    const call: CountCall = { id: ++this.#lastId, texts: job.left.pop() ?? [] };
    this.#running = { id: call.id, job };
    this.#worker.ref();
    this.#worker.postMessage(call);
  }

  #start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: TOKEN_LIMITS.heapMb };
    const worker = new Worker(workerUrl(import.meta.url, "worker"), {
      execArgv: [],
      name: "tokenizer",
      resourceLimits,
    });
    let reason = "it ended";
    worker.on("message", (answer: CountAnswer) => this.#answered(answer));
    worker.on("error", (error) => {
      reason = String(error);
    });
    worker.on("exit", () => {
      this.#worker = null;
      const running = this.#running;
      this.#running = null;
      running?.job.finish(new Error(`the tokenizer is gone: ${reason}`));
      if (!this.#closed) this.#next();
    });
    return worker;
  }

  #answered(answer: CountAnswer): void {
    const running = this.#running;
    if (running?.id !== answer.id) return;
    this.#running = null;
    const { job } = running;
    if ("error" in answer) {
      job.finish(new Error(answer.error));
    } else {
      job.tokens += answer.tokens;
      if (job.left.length === 0) job.finish(null);
    }
    this.#next();
  }
}

/** Texts put together to slices of about the same size: many short ones make one, a long one several. */
function batchesOf(texts: readonly string[]): string[][] {
  const batches: string[][] = [];
  let batch: string[] = [];
  let chars = 0;
  for (const slice of texts.flatMap((text) => slicesOf(text))) {
    if (batch.length > 0 && chars + slice.length > TOKEN_LIMITS.sliceChars) {
      batches.push(batch);
      batch = [];
      chars = 0;
    }
    batch.push(slice);
    chars += slice.length;
  }
  batches.push(batch);
  return batches;
}

function gone(message: string): GatewayError {
  return new GatewayError("cancelled", message);
}
