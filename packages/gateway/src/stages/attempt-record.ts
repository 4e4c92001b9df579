import type { AttemptRow, CredentialUse } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import type { ProviderFailure } from "../core/errors.ts";
import type { Dresser } from "../protocols/protocol.ts";
import type { StreamWriter } from "../protocols/translation.ts";
import type { CallOutcome, Permit } from "../resilience/permit.ts";
import type { Attempt } from "./attempt.ts";
import type { Hold } from "./ceilings.ts";
import { CHARS_PER_TOKEN } from "./meter.ts";
import type { DataPlane } from "./plane.ts";
import type { Hop } from "./route.ts";
import { usedTokens } from "./rows.ts";

/** One attempt of a request, as it is kept until the request is settled. */
export interface AttemptRecord {
  hop: Hop;
  attempt: Attempt;
  /** The one before it went to the same deployment. */
  retry: boolean;
  /** It was made beside another one that took long. */
  hedge: boolean;
  /** What it proved itself with, once that was at hand. */
  credential: { readonly use: CredentialUse | null };
  /** Hints of the client's that found no place in its request. */
  dropped: readonly string[];
  writer: StreamWriter | null;
  dresser: Dresser | null;
  /** Null while it runs, and for one that went well. */
  failure: ProviderFailure | null;
  /** The other one of a hedged pair was faster, or ended the race. */
  superseded?: true;
  /** What it holds at its deployment; null: nothing, or no longer. */
  grip: Grip | null;
  /** Whether its refused credential has a successor, once somebody has asked. */
  renewal?: boolean | Promise<boolean>;
  /** Its ledger row, once it is over and somebody has asked for it. */
  row?: AttemptRow;
}

/** An attempt's place at a deployment: leave to call it, and a share of its ceilings. */
export interface Grip {
  permit: Permit;
  /** Null: it has no ceilings. */
  hold: Hold | null;
  /** What a timeout would say of the caller's haste, and not of the deployment, counts for nothing (ruling 4). */
  hasty: boolean;
  /** The stream was slower than its route wants. */
  slow: boolean;
}

/** An attempt that holds nothing: what the gateway asks beside its clients' calls. */
export function unheld(hop: Hop, attempt: Attempt): AttemptRecord {
  return {
    ...{ hop, attempt, retry: false, hedge: false, credential: { use: null }, dropped: [] },
    ...{ writer: null, dresser: null, failure: null, grip: null },
  };
}

/**
 * Gives back what an attempt held, once it is over: its deployment hears how it went, and its ceilings get back what was not
 * used. Does nothing the second time.
 */
export function release(plane: DataPlane, record: AttemptRecord, call: Call): void {
  const { grip } = record;
  if (!grip) return;
  record.grip = null;
  if (grip.hold) plane.ceilings.settle(grip.hold, usedTokens(record, call));
  const outcome = outcomeOf(record, grip);
  // A credential that is being renewed is judged when that is known: until then nobody is turned away for it.
  const renewal = askForRenewal(record);
  if (typeof renewal === "boolean") return judge(grip, outcome, renewal);
  void renewal.then(
    (renewed) => judge(grip, outcome, renewed),
    () => judge(grip, outcome, false),
  );
}

function judge({ permit }: Grip, outcome: CallOutcome, renewed: boolean): void {
  permit.done(renewed ? { ...outcome, neutral: true } : outcome);
}

/** Whether a credential that was refused has a successor; false for every other failure. The provider is told of it once. */
export function askForRenewal(record: AttemptRecord): boolean | Promise<boolean> {
  const { failure, credential, hop, attempt } = record;
  if (failure?.class !== "auth_failed" || !credential.use) return false;
  record.renewal ??=
    hop.provider.authenticator.refused(credential.use, Date.parse(attempt.headers.date ?? "")) ?? false;
  return record.renewal;
}

function outcomeOf({ attempt, failure }: AttemptRecord, { hasty, slow }: Grip): CallOutcome {
  const { startedAt, endedAt, firstOutputAt } = attempt.meter;
  return {
    class: failure?.class ?? null,
    neutral: failure?.class === "cancelled" || (hasty && failure?.class === "timeout"),
    retryAfterMs: failure?.retryAfterMs ?? null,
    ttftMs: firstOutputAt === null ? null : firstOutputAt - startedAt,
    latencyMs: (endedAt ?? startedAt) - startedAt,
    // A long answer takes long, and is no slowness.
    outputTokens: attempt.meter.usage?.output_tokens ?? Math.ceil(attempt.meter.outputChars / CHARS_PER_TOKEN),
    slow,
  };
}
