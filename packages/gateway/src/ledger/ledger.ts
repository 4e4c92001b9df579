import type {
  AttemptRow,
  FeedbackReport,
  FeedbackRow,
  Page,
  RequestRecord,
  RequestRow,
  SpendReport,
} from "@sluicegate/contract";
import type { KeyEntry } from "../config/snapshot.ts";
import type { FeedbackFilter, FeedbackQuery, FeedbackTarget, FeedbackTargetFacts } from "./feedback-reads.ts";

/** What the spool keeps of a request the moment it is admitted, so that a kill leaves a trace and an estimate. */
export interface Admission {
  /** As it is admitted: it has used nothing and taken no time yet. */
  row: RequestRow;
  /** The call that is about to be made, priced by the input estimate: becomes the attempt of an abandoned request. */
  attempt: AttemptRow;
}

/** Where the data plane leaves its rows, which stay as they are until the tick's write. Nothing here waits for a database. */
export interface LedgerWriter {
  /** False when the spool is full and the policy is to refuse: do not admit. */
  accepting(): boolean;
  /**
   * Resolves once the admission is in the spool file (one write for all that are admitted before anything else runs).
   * Call it before anything is sent to a provider.
   */
  admit(admission: Admission): Promise<void>;
  /**
   * Queues the final row and its attempts for the spool write of this tick. A request id is settled once. Of an admitted row
   * only how it ended may be new: who asked for what, tags and facts stay as they were admitted.
   */
  settle(row: RequestRow, attempts: AttemptRow[]): void;
  /** Refusals and other rows that were never admitted. Same as settle, without an admission before it. */
  record(row: RequestRow): void;
  /** Queues a score for the spool write of this tick; dropped and counted where the spool is full. */
  score(row: FeedbackRow): void;
  /** Rows spooled and not yet in the database. */
  spooledRows(): number;
  state(): "ok" | "degraded" | "down";
  /** Resolves when all that was settled so far is in the database, or rejects after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Filters of a request list; times are ISO 8601, `to` exclusive. Newest first. */
export interface RequestFilter {
  tenant?: string;
  alias?: string;
  deployment?: string;
  status?: string;
  from?: string;
  to?: string;
  /** 1 to 1,000. */
  limit: number;
  cursor?: string;
}

/** Reads the ledger's database. May be opened by the CLI while a gateway writes. */
export interface LedgerReader {
  requests(filter: RequestFilter): Page<RequestRecord>;
  request(requestId: string): RequestRecord | null;
  /** Throws GatewayError invalid_request for an unknown dimension, listing all. */
  spend(query: { by: string[]; from: string; to: string; tenant?: string }): SpendReport;
  /** Scores, newest first. */
  scores(filter: FeedbackFilter): Page<FeedbackRow>;
  /** Scores by what served. Throws GatewayError invalid_request for an unknown dimension, listing all. */
  feedback(query: FeedbackQuery): FeedbackReport;
  /** Whether its tenant has made such a request, or such a session. */
  feedbackTarget(target: FeedbackTarget): FeedbackTargetFacts;
  close(): void;
}

/** Keys made by the CLI or the API, in the ledger's database. Only hashes are kept. */
export interface KeyStore {
  /** Grows with every change: poll it to learn of keys made or revoked elsewhere. */
  revision(): number;
  list(): (KeyEntry & { createdAt: number; revokedAt: number | null })[];
  insert(key: KeyEntry): void;
  /** Revokes now (or at `atMs`); false when there is no such live key. */
  revoke(id: string, atMs?: number): boolean;
  close(): void;
}
