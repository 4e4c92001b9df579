import type { AlertDesk } from "../alerts/desk.ts";
import type { Deployment, KeyEntry, Snapshot } from "../config/snapshot.ts";
import type { Cancel } from "../core/cancel.ts";
import type { Clock } from "../core/clock.ts";
import type { Waits } from "../core/limits.ts";
import type { Random } from "../core/random.ts";
import type { Transport } from "../core/transport.ts";
import type { FlagReader } from "../flags/flag-reader.ts";
import type { FeedbackDesk } from "../ledger/feedback-desk.ts";
import type { LedgerWriter } from "../ledger/ledger.ts";
import type { CeilingsOf } from "../limits/ceilings.ts";
import type { Provider } from "../providers/provider.ts";
import type { HealthBoard } from "../resilience/health-board.ts";
import type { HedgeBudget } from "../resilience/hedge.ts";
import type { RetryBudget } from "../resilience/retry-budget.ts";
import type { Shedder } from "../resilience/shedding.ts";
import type { SharedState } from "../state/state.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { TokenCounter } from "../tokens/token-counter.ts";
import type { Ceilings } from "./ceilings.ts";
import type { RefusalMeter } from "./refusals.ts";

/** One generation of the config with what was built from it: swapped whole, read by a request once. */
export interface Runtime {
  snapshot: Snapshot;
  providers: ReadonlyMap<string, Provider>;
  /** The same providers with a tenant's own credentials: by tenant, then by provider. */
  own: ReadonlyMap<string, ReadonlyMap<string, Provider>>;
  /** A deployment for a `provider/model` name that the config does not list. */
  rawDeployment(provider: string, model: string): Deployment;
  /** Those made so far. */
  madeDeployments(): Iterable<Deployment>;
  /** What calls to a deployment are held to, with the shared credentials or a tenant's own. */
  ceilings: CeilingsOf;
}

/** Client keys in memory, by the sha256 of the whole key (lower-case hex). */
export interface KeyRing {
  find(hash: string): KeyEntry | undefined;
}

/** All the data plane stands on. Made once, by app.ts. */
export interface DataPlane {
  clock: Clock;
  random: Random;
  transport: Transport;
  ledger: LedgerWriter;
  /** Who is told of trouble. */
  alerts: Pick<AlertDesk, "onDrift" | "onMissingPrice">;
  /** Where clients leave scores. */
  feedback: Pick<FeedbackDesk, "leave">;
  keys: KeyRing;
  retryBudget: RetryBudget;
  /** How every deployment is, and whether it may be called. */
  health: HealthBoard;
  hedges: HedgeBudget;
  /** What the providers allot. */
  ceilings: Ceilings;
  shedder: Shedder;
  /** Feature flags. */
  flags: Pick<FlagReader, "read">;
  /** Name of the environment the gateway was started for (`--env`); null: none. */
  environment: string | null;
  /** What replicas share. */
  state: SharedState;
  refusals: RefusalMeter;
  tokens: TokenCounter;
  waits: Waits;
  log: Log;
  metrics: Metrics;
  /** The config as it is now. */
  runtime(): Runtime;
  /** True once the gateway is going away: new requests are refused. */
  draining(): boolean;
  /** Fires when nothing is waited for any more: what runs without its client ends as well. */
  ending: Cancel;
}
