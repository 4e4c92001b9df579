import { Worker } from "node:worker_threads";
import type { FeedbackReport, FeedbackRow, Page, RequestRecord, SpendReport } from "@sluicegate/contract";
import { GatewayError } from "../core/errors.ts";
import { LEDGER_LIMITS } from "./bounds.ts";
import type { FeedbackFilter, FeedbackQuery, FeedbackTarget, FeedbackTargetFacts } from "./feedback-reads.ts";
import type { RequestFilter } from "./ledger.ts";
import type { ReaderAnswer, ReaderCall, ReaderMethod } from "./reader-messages.ts";
import type { SpendQuery } from "./spend.ts";
import { workerUrl } from "./worker-url.ts";

/** A LedgerReader that answers from a thread of its own: a report over millions of rows holds up nobody's stream. */
export interface LedgerReaderThread {
  requests(filter: RequestFilter): Promise<Page<RequestRecord>>;
  request(requestId: string): Promise<RequestRecord | null>;
  spend(query: SpendQuery): Promise<SpendReport>;
  scores(filter: FeedbackFilter): Promise<Page<FeedbackRow>>;
  feedback(query: FeedbackQuery): Promise<FeedbackReport>;
  feedbackTarget(target: FeedbackTarget): Promise<FeedbackTargetFacts>;
  close(): Promise<void>;
}

/** Opens it; the thread starts at the first question, and anew after a crash. Rejects as a LedgerReader throws. */
export function openLedgerReaderThread(path: string): LedgerReaderThread {
  return new ReaderThread(path);
}

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

class ReaderThread implements LedgerReaderThread {
  readonly #path: string;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #lastId = 0;

  constructor(path: string) {
    this.#path = path;
  }

  requests(filter: RequestFilter): Promise<Page<RequestRecord>> {
    return this.#ask("requests", filter) as Promise<Page<RequestRecord>>;
  }

  request(requestId: string): Promise<RequestRecord | null> {
    return this.#ask("request", requestId) as Promise<RequestRecord | null>;
  }

  spend(query: SpendQuery): Promise<SpendReport> {
    return this.#ask("spend", query) as Promise<SpendReport>;
  }

  scores(filter: FeedbackFilter): Promise<Page<FeedbackRow>> {
    return this.#ask("scores", filter) as Promise<Page<FeedbackRow>>;
  }

  feedback(query: FeedbackQuery): Promise<FeedbackReport> {
    return this.#ask("feedback", query) as Promise<FeedbackReport>;
  }

  feedbackTarget(target: FeedbackTarget): Promise<FeedbackTargetFacts> {
    return this.#ask("feedbackTarget", target) as Promise<FeedbackTargetFacts>;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #ask(method: ReaderMethod, argument: unknown): Promise<unknown> {
    if (this.#pending.size >= LEDGER_LIMITS.readsMax) {
      const message = `more than ${LEDGER_LIMITS.readsMax} questions to the ledger wait for an answer`;
      return Promise.reject(new GatewayError("overloaded", message, { retryAfterMs: 1_000 }));
    }
    const worker = this.#worker ?? this.#start();
    this.#worker = worker;
    const call: ReaderCall = { id: ++this.#lastId, method, argument };
    worker.ref();
    worker.postMessage(call);
    return new Promise((resolve, reject) => this.#pending.set(call.id, { resolve, reject }));
  }

  #start(): Worker {
    const worker = new Worker(workerUrl("reader-worker"), {
      workerData: this.#path,
      execArgv: [],
      name: "ledger-reader",
    });
    let reason = "it ended";
    worker.on("message", (answer: ReaderAnswer) => this.#answered(worker, answer));
    worker.on("error", (error) => {
      reason = String(error);
    });
    worker.on("exit", () => {
      this.#worker = null;
      for (const { reject } of this.#pending.values()) reject(new Error(`the ledger's reader is gone: ${reason}`));
      this.#pending.clear();
    });
    return worker;
  }

  #answered(worker: Worker, answer: ReaderAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if (this.#pending.size === 0) worker.unref();
    if ("value" in answer) return pending?.resolve(answer.value);
    const { code, message, details } = answer.error;
    pending?.reject(code ? new GatewayError(code, message, details) : new Error(message));
  }
}
