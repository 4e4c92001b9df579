import type { Call, ReplyFacts } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import { CLASSES, type GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { NEVER_MS } from "../resilience/bounds.ts";
import { type NextStep, nextStep } from "../resilience/retry.ts";
import { totalTimeoutMs } from "../resilience/timeouts.ts";
import type { Lease } from "./admit.ts";
import { type AttemptRecord, release } from "./attempt-record.ts";
import { type Entered, type Entry, enter, type Skipped } from "./enter.ts";
import { finalError } from "./final-error.ts";
import { guardsToolResults, hasMoreRoom, hedgeFor } from "./hedging.ts";
import { nothingOpen, wholeMs } from "./nothing-open.ts";
import { clientLeft, LATE_MS, pause } from "./pause.ts";
import type { DataPlane } from "./plane.ts";
import { type Raced, race } from "./race.ts";
import { renewal } from "./renewal.ts";
import type { Hop, Plan } from "./route.ts";
import { startAttempt } from "./start-attempt.ts";
import type { Visit } from "./visit.ts";

/** An answer that is ready to go out: whole, or a stream at its commit point. */
export type Executed = ExecutedReply | { kind: "stream"; record: AttemptRecord };

/** A whole answer, as the upstream sent it. */
export interface ExecutedReply {
  kind: "reply";
  record: AttemptRecord;
  body: Buffer;
  facts: ReplyFacts;
  contentType: string;
}

/** What execute is asked to do. */
export interface Work {
  visit: Visit;
  call: Call;
  plan: Plan;
  lease: Lease;
  header: (name: string) => string | undefined;
  /** Something is to be said before the stream's end mark. */
  holdTerminator: boolean;
  /** False: a deployment that is full is not waited for. */
  queues?: boolean;
}

/** Where in the chain a request stands. */
export interface Standing {
  /** Monotonic ms. */
  deadline: number;
  hopIndex: number;
  attemptsHere: number;
  /** Its credential was refused here and another one came. */
  renewed: boolean;
  /** Deployments that were passed over, as they were then. */
  skipped: Skipped[];
  /** It has waited for a recovery, and does so once. */
  waited: boolean;
  /** This deployment is tried whatever its health says. */
  forced: boolean;
  /** For whom the request was too long: only deployments with more room are asked from then on. Null: nobody. */
  overflowed: Hop["deployment"] | null;
}

/**
 * The attempt loop: enter, send, classify, again? One deadline and one attempt budget for the whole chain. Each step goes on to
 * the next by itself: nearly every request takes the first two only, and has no loop waiting behind them.
 * Throws the error the client is to see when nothing is left to try, or when the client has left; rejects with it later on.
 */
export function execute(plane: DataPlane, work: Work, cancel: Cancel): Promise<Executed> {
  const { visit, call, plan } = work;
  const standing: Standing = {
    deadline: visit.arrivedAt + totalTimeoutMs(call, plan.settings),
    hopIndex: 0,
    attemptsHere: 0,
    renewed: false,
    skipped: [],
    waited: false,
    forced: false,
    overflowed: null,
  };
  return goOn(plane, work, standing, cancel);
}

/** May the deployment where the request stands be called now: in its time, by its health, within its ceilings? */
function goOn(plane: DataPlane, work: Work, standing: Standing, cancel: Cancel): Promise<Executed> {
  const { call, plan } = work;
  let hop = plan.hops[standing.hopIndex] ?? plan.hops[0];
  while (standing.overflowed && !hasMoreRoom(call, standing.overflowed, hop.deployment)) {
    if (!othersLeft(work, standing)) throw lastWord(plane, work, standing);
    moveOn(plane, work, standing);
    hop = plan.hops[standing.hopIndex] ?? plan.hops[0];
  }
  const entering = enter(plane, work, hop, standing, cancel);
  if (entering instanceof Promise || !entering.ok) return knock(plane, work, hop, entering, standing, cancel);
  return ask(plane, work, hop, entering, standing, cancel);
}

/** Waits for the answer of a deployment that has somebody to ask first, and goes by one that lets nobody in. */
async function knock(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  entering: Entry | Promise<Entry>,
  standing: Standing,
  cancel: Cancel,
): Promise<Executed> {
  const entry = await entering;
  if (entry.ok) return ask(plane, work, hop, entry, standing, cancel);
  standing.skipped.push(entry.skipped);
  if (cancel.cancelled) throw clientLeft();
  // Waiting for a place may have taken all the time there was.
  const isOver = standing.deadline <= plane.clock.monotonic();
  if (!isOver && othersLeft(work, standing)) moveOn(plane, work, standing);
  else await nothingOpen(plane, work, standing, cancel);
  return goOn(plane, work, standing, cancel);
}

/** Calls the deployment, and another one beside it where the route hedges, and passes on what they answer. */
function ask(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  entered: Entered,
  standing: Standing,
  cancel: Cancel,
): Promise<Executed> {
  const first = begin(plane, work, hop, entered, standing, cancel);
  const { startedAt } = first.attempt.meter;
  const second = hedgeFor(plane, work, standing, cancel);
  const over = (raced: Raced): Executed | Promise<Executed> => {
    work.visit.waitedMs += plane.clock.monotonic() - startedAt;
    conclude(plane, work, first, raced);
    const { record, outcome } = raced;
    if (outcome.kind === "streaming") return { kind: "stream", record };
    if (outcome.kind === "failed") return again(plane, work, raced, standing, cancel);
    const { body, facts, contentType } = outcome;
    return { kind: "reply", record, body, facts, contentType };
  };
  if (second) return race(plane, first, second).then(over);
  return first.attempt.outcome.then((outcome) => over({ record: first, outcome, second: null }));
}

/** After a failure: once more here, elsewhere, or not at all. */
async function again(
  plane: DataPlane,
  work: Work,
  raced: Raced,
  standing: Standing,
  cancel: Cancel,
): Promise<Executed> {
  const step = await decide(plane, work, raced, standing, cancel);
  if (step.do === "stop") throw lastWord(plane, work, standing);
  if (step.do === "move_on") moveOn(plane, work, standing);
  else {
    plane.metrics.retried();
    const { failure } = raced.record;
    await pause(plane, work.visit, step.waitMs + (failure?.retryAfterMs ? LATE_MS : 0), cancel);
  }
  return goOn(plane, work, standing, cancel);
}

/** One call to one deployment. */
function begin(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  { grip, remainingMs, at }: Entered,
  standing: Standing,
  cancel: Cancel,
): AttemptRecord {
  const retry = standing.attemptsHere > 0;
  if (!retry) plane.retryBudget.request(hop.health, at);
  standing.attemptsHere++;
  return startAttempt(plane, work, hop, { retry, hedge: false, grip, remainingMs }, cancel);
}

/** A call is over, and the one beside it where the request was hedged. What is over lets go of its deployment. */
function conclude(plane: DataPlane, { call, lease }: Work, first: AttemptRecord, raced: Raced): void {
  const { record, outcome, second } = raced;
  if (outcome.kind === "failed") record.failure = outcome.failure;
  else lease.served = record;
  const goesOn = outcome.kind === "streaming" ? record : null;
  if (first !== goesOn) letGo(plane, first, call);
  if (second && second !== goesOn) letGo(plane, second, call);
}

function letGo(plane: DataPlane, over: AttemptRecord, call: Call): void {
  release(plane, over, call);
  if (over.failure) plane.metrics.attemptFailed(over.hop.pool, over.failure.class);
}

/** What happens after a failed attempt: made in one place, by `nextStep`. */
async function decide(
  plane: DataPlane,
  work: Work,
  { record, second }: Raced,
  standing: Standing,
  cancel: Cancel,
): Promise<NextStep> {
  const { call, plan, lease, visit } = work;
  const { failure, hop } = record;
  if (!failure) throw new Error("an attempt that went well has no next step");
  const { settings } = plan;
  if (second) standAt(standing, plan.hops.indexOf(second.hop), settings.retries.attempts);
  const sideEffecting = call.platform.side_effecting === true;
  const others = othersLeft(work, standing);
  const remainingMs = standing.deadline - plane.clock.monotonic();
  // After a race the request stands at the second one: a retry would not go to the deployment whose credential was renewed.
  const isSpent = standing.renewed || second !== null;
  const mayWait = !others && !sideEffecting;
  const terms = { visit, renewed: isSpent, mayWait, remainingMs };
  const renewed = await renewal(plane, record, terms, cancel);
  standing.renewed ||= renewed;
  // Another credential is at hand: what the refused one has met says nothing of it.
  if (renewed) plane.health.credentialChanged(hop.health);
  const roomier = others && failure.class === "context_overflow" ? roomierAfter(work, standing.hopIndex) : -1;
  const callable = others && mayBeCalled(plane, work, standing.hopIndex);
  const step = nextStep({
    failure,
    retries: settings.retries,
    attemptsHere: standing.attemptsHere,
    renewed,
    attemptsTotal: lease.attempts.length,
    othersLeft: callable,
    largerWindowLeft: roomier !== -1,
    fallback: true,
    sideEffecting,
    guardsToolResults: guardsToolResults(call),
    remainingMs: standing.deadline - plane.clock.monotonic(),
    budgetAllows: () => plane.retryBudget.take(hop.health, settings.retries.budget),
    random: plane.random.float(),
  });
  // Those in between have no more room than this one.
  if (roomier !== -1) {
    standing.hopIndex = roomier - 1;
    standing.overflowed = hop.deployment;
  }
  // None of the others takes a call at this moment; one of them may before the deadline.
  const mayRecover = others && !callable && !sideEffecting && CLASSES[failure.class].fallOver;
  const callsLeft = lease.attempts.length < LIMITS.attemptsMax;
  return step.do === "stop" && mayRecover && callsLeft ? { do: "move_on" } : step;
}

/** What the client is told when nothing is left to try. */
export function lastWord(plane: DataPlane, { call, plan, lease }: Work, { deadline }: Standing): GatewayError {
  const now = plane.clock.now();
  const soonest = plan.hops.map(({ health: key }) => {
    const { circuit, retryAt, coolingUntil } = plane.health.read(key);
    const at = Math.max(coolingUntil, circuit === "closed" ? 0 : retryAt);
    return at < NEVER_MS ? Math.max(0, at - now) : Number.POSITIVE_INFINITY;
  });
  const passed = deadline <= plane.clock.monotonic();
  const soonestMs = Math.min(...soonest);
  const isKnown = soonestMs > 0 && Number.isFinite(soonestMs);
  return finalError(call, lease.attempts, passed, isKnown ? wholeMs(soonestMs) : null);
}

/** The first of the later deployments that takes a longer context, where the route lets an overflow go there; -1: none. */
function roomierAfter(work: Work, hopIndex: number): number {
  const { call, plan } = work;
  if (!plan.settings.contextFallback) return -1;
  const from = plan.hops[hopIndex]?.deployment;
  return laterHop(work, hopIndex, ({ deployment }) => hasMoreRoom(call, from, deployment));
}

/** A later deployment of the plan, which the request may go to. */
function othersLeft(work: Work, { hopIndex }: Standing): boolean {
  const { plan, call } = work;
  return plan.settings.fallback && call.platform.fallback !== false && laterHop(work, hopIndex) !== -1;
}

/** One of the later deployments is neither open nor cooling. */
function mayBeCalled({ health, clock }: DataPlane, work: Work, hopIndex: number): boolean {
  const now = clock.now();
  const next = laterHop(work, hopIndex, (hop) => {
    const { circuit, retryAt, coolingUntil } = health.read(hop.health);
    return coolingUntil <= now && (circuit === "closed" || (circuit === "open" && retryAt <= now));
  });
  return next !== -1;
}

/**
 * The first of the later deployments that may still be tried and `suits`; -1: none. One that a request comes back to, after it
 * has waited for one before it, keeps the calls that were made there.
 */
export function laterHop(work: Work, hopIndex: number, suits: (hop: Hop) => boolean = () => true): number {
  const { plan } = work;
  const { attempts } = plan.settings.retries;
  return plan.hops.findIndex((hop, index) => index > hopIndex && callsTo(work, hop) < attempts && suits(hop));
}

/** Calls made to a deployment so far. */
export function callsTo({ lease }: Work, hop: Hop | undefined): number {
  return lease.attempts.reduce((count, record) => (record.hop === hop ? count + 1 : count), 0);
}

function moveOn({ metrics }: DataPlane, work: Work, standing: Standing): void {
  const next = laterHop(work, standing.hopIndex);
  standAt(standing, next, callsTo(work, work.plan.hops[next]));
  metrics.failedOver();
}

/** The request stands at another deployment of its plan. What was to be tried by force was the one before it. */
export function standAt(standing: Standing, hopIndex: number, attemptsHere: number): void {
  Object.assign(standing, { hopIndex, attemptsHere, renewed: false, forced: false });
}
