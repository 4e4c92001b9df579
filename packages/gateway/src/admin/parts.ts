import type { FeedbackReport, FeedbackRow, Page, RequestRecord, SpendReport } from "@sluicegate/contract";
import type { AdminKey, ConfigProblem, KeyEntry, Snapshot } from "../config/snapshot.ts";
import type { Clock } from "../core/clock.ts";
import type { ReadHealth } from "../core/health.ts";
import type { Random } from "../core/random.ts";
import type { FeedbackFilter, FeedbackQuery } from "../ledger/feedback-reads.ts";
import type { LedgerReader, LedgerWriter, RequestFilter } from "../ledger/ledger.ts";
import type { ProbeStanding } from "../probes/probe-loops.ts";
import type { Deciding } from "../stages/decide-again.ts";
import type { Runtime } from "../stages/plane.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ConsoleLinks } from "./console-links.ts";
import type { DeploymentSeat } from "./deployment-seat.ts";

/** The ledger as the control plane reads it: a LedgerReader as it is, or one that answers from another thread. */
export interface LedgerReads {
  requests(filter: RequestFilter): Page<RequestRecord> | Promise<Page<RequestRecord>>;
  request(requestId: string): RequestRecord | null | Promise<RequestRecord | null>;
  spend(query: Parameters<LedgerReader["spend"]>[0]): SpendReport | Promise<SpendReport>;
  close(): void | Promise<void>;
}

/** Scores, read the same way. */
export interface FeedbackReads {
  scores(filter: FeedbackFilter): Page<FeedbackRow> | Promise<Page<FeedbackRow>>;
  feedback(query: FeedbackQuery): FeedbackReport | Promise<FeedbackReport>;
}

/** Where the process stands between its start and its end. */
export type Phase = "starting" | "ready" | "draining";

/** Which config holds. `last_good`: a later one was refused, and this one is still served. Times are epoch ms. */
export interface ConfigState {
  revision: string;
  loadedAt: number;
  state: "ok" | "last_good";
}

/** Where the secrets stand. `oldestReadAt` is epoch ms; null: none is kept besides those of the config. */
export interface SecretsState {
  state: "ok" | "degraded";
  oldestReadAt: number | null;
}

/** Where replicas keep what they share, and whether it works. */
export interface StoreState {
  kind: string;
  state: "ok" | "degraded" | "down";
}

/** What decisions are taken with, for those who ask why, and what if. */
export interface RoutingSeat {
  /** What serves now. */
  runtime(): Runtime;
  health: ReadHealth;
  /** A client key by its id, of the config or made since; null: there is none. */
  key(id: string): KeyEntry | null;
  /** Makes a config's text into what decisions are taken with, and serves nothing by it. To be closed by who asked. */
  tryConfig(text: string): Promise<TriedConfig>;
}

/** A config that was looked at. */
export interface TriedConfig {
  /** Null: it has errors. */
  runtime: (Deciding & { close(): void }) | null;
  problems: readonly ConfigProblem[];
}

/** What came of reading the config again: `ok` false means that the old one still holds. */
interface ReloadResult {
  ok: boolean;
  problems: readonly ConfigProblem[];
}

/** All the control plane stands on. Made once, by app.ts. */
export interface ControlParts {
  clock: Clock;
  random: Random;
  /** Of this build, as in package.json. */
  version: string;
  /** Epoch ms. */
  startedAt: number;
  /** Closed with the control plane. */
  reader: LedgerReads & FeedbackReads;
  ledger: Pick<LedgerWriter, "accepting" | "spooledRows" | "state">;
  metrics: Pick<Metrics, "read">;
  log: Log;
  consoleLinks: ConsoleLinks;
  /** The config as it is now. */
  snapshot(): Snapshot;
  /** Every admin key, SLUICEGATE_ADMIN_KEY included; hashes are lower-case hex. */
  adminKeys(): readonly AdminKey[];
  phase(): Phase;
  configState(): ConfigState;
  secrets(): SecretsState;
  /** How the deployments that are probed for readiness stand, by name. */
  probes(): ReadonlyMap<string, ProbeStanding>;
  deployments: DeploymentSeat;
  routing: RoutingSeat;
  store(): StoreState;
  /** Requests that wait for a place at a deployment. */
  queueDepth(): number;
  /** Tokens of ceilings that running calls have reserved. */
  reservedTokens(): number;
  /** Reads the config again. Absent: this gateway cannot, and `/admin/config/reload` does not exist. */
  reload?(): Promise<ReloadResult>;
}
