import { type AttemptRow, type CostState, noUsage, type RequestRow, type Usage } from "@sluicegate/contract";
import type { Call } from "../core/call.ts";
import type { ProviderFailure } from "../core/errors.ts";
import { isoTime } from "../core/iso-time.ts";
import { costOf, type Price } from "../core/money.ts";
import { priceAt } from "../core/price.ts";
import type { AttemptExtras } from "../ledger/layout.ts";
import { countsAnything } from "../protocols/protocol.ts";
import type { RouteFacts } from "../routing/facts.ts";
import type { Lease } from "./admit.ts";
import type { AttemptRecord } from "./attempt-record.ts";
import type { Caller } from "./authenticate.ts";
import { CHARS_PER_TOKEN, type Meter } from "./meter.ts";
import type { Plan } from "./route.ts";
import type { Visit } from "./visit.ts";

/** What is known of a request by now; a refused one stops somewhere on the way. */
export interface Known {
  caller?: Caller | undefined;
  call?: Call | undefined;
  /** What routing looks at. */
  facts?: RouteFacts | undefined;
  plan?: Plan | undefined;
}

/** The ledger row of a request that has just been admitted or refused: status running, nothing used yet. */
export function requestRow(visit: Visit, { caller, call, plan, facts: known }: Known): RequestRow {
  // Once a row is made, nothing is added to them: they need no copy.
  const facts = plan?.facts ?? known;
  const platform = call?.platform;
  return {
    request_id: visit.requestId,
    client_request_id: visit.clientRequestId,
    parent_request_id: null,
    purpose: "client",
    started_at: isoTime(visit.startedAt),
    tenant: caller?.tenant.name ?? "",
    team: caller?.key.team ?? null,
    application: caller?.key.application ?? platform?.application ?? null,
    agent: platform?.agent ?? null,
    user: platform?.user ?? null,
    session: platform?.session_id ?? null,
    key_id: caller?.key.id ?? null,
    alias: call?.alias ?? null,
    route: plan?.route ?? null,
    rule: plan?.rule ?? null,
    variant: plan?.decision.variant ?? null,
    dialect: visit.protocol.name,
    stream: call?.stream ?? false,
    status: "running",
    error_code: null,
    finish_reason: null,
    deployment: null,
    provider: null,
    model: null,
    response_model: null,
    region: null,
    template_version: platform?.template_version ?? null,
    task_class: platform?.task_class ?? null,
    classification:
      plan?.decision.classification ?? platform?.classification ?? caller?.tenant.defaults.classification ?? null,
    usage: noUsage(),
    cost_micro_usd: 0,
    cost_state: "known",
    saved_micro_usd: 0,
    cache: plan ? "bypass" : null,
    latency_ms: null,
    ttft_ms: null,
    overhead_ms: null,
    fallback_depth: 0,
    hedged: false,
    trace_id: null,
    tags: platform?.tags ?? {},
    facts: (facts as Record<string, unknown> | undefined) ?? null,
    repeated: 1,
  };
}

/** The ledger rows of a request's attempts, all of which are over. An attempt is put into its row once. */
export function attemptRows(records: readonly AttemptRecord[], call: Call, atMs: number): AttemptRow[] {
  return records.map((record, index) => {
    record.row ??= attemptRow(record, index + 1, call, atMs);
    return record.row;
  });
}

/** The ledger row of one attempt, priced (ruling 10). `n` counts from 1. */
function attemptRow(record: AttemptRecord, n: number, call: Call, atMs: number): AttemptRow & AttemptExtras {
  const { hop, attempt, failure } = record;
  const { meter } = attempt;
  const { usage, estimated } = usageOf(meter, failure, call);
  const price = priceAt(hop.deployment.prices, atMs);
  const basis = { usage, estimated, price, unmeasured: estimated && !isEstimable(call) };
  return {
    n,
    deployment: hop.deployment.name,
    provider: hop.deployment.provider,
    model: hop.deployment.model,
    status: failure === null ? "ok" : failure.class === "cancelled" ? "cancelled" : "failed",
    error_class: failure?.class ?? null,
    http_status: meter.httpStatus,
    usage,
    cost_micro_usd: price ? costOf(usage, price) : 0,
    cost_state: costState(basis, call),
    latency_ms: round((meter.endedAt ?? meter.startedAt) - meter.startedAt),
    ttft_ms: meter.firstOutputAt === null ? null : round(meter.firstOutputAt - meter.startedAt),
    hedge: record.hedge,
    retry: record.retry,
    credential: record.credential.use,
    provider_request_id: meter.providerRequestId?.slice(0, 200) ?? null,
    region: hop.deployment.region,
    capacity: hop.deployment.capacity,
  };
}

/**
 * What an attempt is billed for: what the provider reported; else an estimate, for one that went well and for one that
 * timed out, was cut or was cancelled after the request was sent; else nothing.
 */
function usageOf(meter: Meter, failure: ProviderFailure | null, call: Call): { usage: Usage; estimated: boolean } {
  const over = failure === null || meter.finishReason !== null;
  // Zeros are an answer's count only once it is over.
  if (meter.usage && (over || countsAnything(meter.usage))) return reportedUsage(meter, meter.usage, over);
  const cut = failure !== null && (meter.outputChars > 0 || failure.broken === true);
  const billed = failure === null || (meter.sentAt !== null && cut);
  const usage = noUsage();
  if (!billed || call.operation === "count_tokens") return { usage, estimated: false };
  if (!isEstimable(call)) return { usage, estimated: true };
  usage.input_tokens = call.inputTokensEstimate;
  usage.output_tokens = Math.ceil(meter.outputChars / CHARS_PER_TOKEN);
  return { usage, estimated: true };
}

/** Broken off before it said why it stopped, a stream has reported its usage so far: what came after the report is estimated. */
function reportedUsage(meter: Meter, usage: Usage, over: boolean): { usage: Usage; estimated: boolean } {
  if (over) return { usage, estimated: false };
  const unreported = Math.ceil((meter.outputChars - meter.reportedChars) / CHARS_PER_TOKEN);
  return { usage: { ...usage, output_tokens: usage.output_tokens + unreported }, estimated: true };
}

/** Tokens an attempt that is over is taken to have used; null when nothing was sent. */
export function usedTokens({ attempt, failure }: AttemptRecord, call: Call): number | null {
  if (attempt.meter.sentAt === null) return null;
  const { usage } = usageOf(attempt.meter, failure, call);
  return usage.input_tokens + usage.output_tokens;
}

/**
 * Can what a call uses be told from its text, where the provider does not report it? Not of those that are billed by pictures,
 * seconds or characters.
 */
export function isEstimable({ operation }: Call): boolean {
  return operation !== "images" && operation !== "speech" && operation !== "transcription";
}

/** What a cost is made of. `unmeasured`: something was used, and nobody knows how much of it. */
interface CostBasis {
  usage: Usage;
  estimated: boolean;
  price: Price | null;
  unmeasured: boolean;
}

function costState({ usage, estimated, price, unmeasured }: CostBasis, call: Call): CostState {
  const used = unmeasured || usage.input_tokens + usage.output_tokens > 0;
  if (used && !price) return "unknown";
  // A price of nothing holds for any amount.
  if (unmeasured) return price && isFree(price) ? "known" : "unknown";
  // The book's rates are those of text, and some of these tokens are not; a configured price is the operator's word.
  const byText = used && !isEstimable(call) && price?.source === "book" && !isFree(price);
  return estimated || byText ? "estimated" : "known";
}

function isFree(price: Price): boolean {
  return [price, ...price.tiers.map(({ rates }) => rates)].every((rates) => rates.input + rates.output === 0);
}

/** The sum of a request's attempts: tokens, money, and the least certain of their cost states. */
export function sumOf(attempts: readonly AttemptRow[]): {
  usage: Usage;
  cost_micro_usd: number;
  cost_state: CostState;
} {
  const [only] = attempts;
  if (only && attempts.length === 1) {
    const { usage, cost_micro_usd, cost_state } = only;
    return { usage, cost_micro_usd, cost_state };
  }
  const usage = noUsage();
  let cost = 0;
  let state: CostState = "known";
  for (const attempt of attempts) {
    for (const field in usage) usage[field as keyof Usage] += attempt.usage[field as keyof Usage];
    cost += attempt.cost_micro_usd;
    if (attempt.cost_state === "unknown" || (attempt.cost_state === "estimated" && state === "known"))
      state = attempt.cost_state;
  }
  return { usage, cost_micro_usd: cost, cost_state: state };
}

/** How many deployments were given up before the one that served; while none has, of all that were asked. */
export function fallbackDepth({ attempts, served }: Pick<Lease, "attempts" | "served">): number {
  if (attempts.length < 2) return 0;
  // What was begun beside the one that served, and after it, was not gone to in its place.
  const until = served ? attempts.slice(0, attempts.indexOf(served) + 1) : attempts;
  const asked = until.filter(({ superseded }) => superseded !== true);
  return Math.max(0, new Set(asked.map((record) => record.hop.deployment.name)).size - 1);
}

/** Milliseconds with one decimal: what a row keeps of a time. */
export function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
