import type { Call, ReplyFacts } from "../core/call.ts";
import type { Cancel } from "../core/cancel.ts";
import { GatewayError, type ProviderFailure } from "../core/errors.ts";
import { accountToken } from "../protocols/account-token.ts";
import { translateReply, writerFor } from "../protocols/translate.ts";
import { type NextStep, nextStep } from "../resilience/retry.ts";
import { attemptTimeouts, totalTimeoutMs } from "../resilience/timeouts.ts";
import type { AttemptRecord, Lease } from "./admit.ts";
import { Attempt } from "./attempt.ts";
import { finalError } from "./final-error.ts";
import type { DataPlane } from "./plane.ts";
import { deploymentToken, type Hop, type Plan } from "./route.ts";
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
}

/**
 * The attempt loop: pick, send, classify, again? One deadline and one attempt budget for the whole chain.
 * Throws the error the client is to see when nothing is left to try, or when the client has left.
 */
export async function execute(plane: DataPlane, work: Work, cancel: Cancel): Promise<Executed> {
  const { visit, call, plan, lease } = work;
  const deadline = visit.arrivedAt + totalTimeoutMs(call, plan.settings);
  let hopIndex = 0;
  let attemptsHere = 0;
  let renewedHere = false;
  for (;;) {
    const hop = plan.hops[hopIndex] ?? plan.hops[0];
    const retry = attemptsHere > 0;
    if (!retry) plane.retryBudget.request(hop.health);
    attemptsHere++;
    // Attempts see nothing of each other: each translates again from the client's own call.
    const record = startAttempt(plane, work, hop, retry, deadline, cancel);
    lease.attempts.push(record);
    const outcome = await record.attempt.outcome;
    visit.waitedMs += plane.clock.monotonic() - record.attempt.meter.startedAt;
    if (outcome.kind === "streaming") return { kind: "stream", record };
    if (outcome.kind === "reply") return { ...outcome, record };
    record.failure = outcome.failure;
    plane.metrics.attemptFailed(hop.pool, outcome.failure.class);
    const standing: Standing = { hopIndex, attemptsHere, renewed: renewedHere, deadline };
    const renewed = await renewal(plane, work, record, standing, cancel);
    renewedHere ||= renewed;
    const step = decide(plane, work, outcome.failure, { ...standing, renewed });
    if (step.do === "stop") throw finalError(call, lease.attempts, deadline <= plane.clock.monotonic());
    if (step.do === "move_on") {
      hopIndex++;
      attemptsHere = 0;
      renewedHere = false;
      plane.metrics.failedOver();
    } else {
      plane.metrics.retried();
      await pause(plane, visit, step.waitMs, cancel);
    }
  }
}

function startAttempt(
  plane: DataPlane,
  work: Work,
  hop: Hop,
  retry: boolean,
  deadline: number,
  cancel: Cancel,
): AttemptRecord {
  const { visit, call, plan } = work;
  const { deployment, provider, protocol, crossing, pool } = hop;
  const client = visit.protocol;
  const remainingMs = deadline - plane.clock.monotonic();
  const shown = {
    call,
    requestId: visit.requestId,
    createdS: Math.floor(visit.startedAt / 1_000),
    model: deployment.model,
  };
  const writer = crossing && call.stream ? writerFor(client, shown) : null;
  const dresser = crossing
    ? null
    : (client.dress?.(call, deploymentToken(deployment, work.lease.row.tenant), accountToken(deployment.provider)) ??
      null);
  // Last: what it counts as a call on its way is only taken back by an attempt.
  const asked = { call, protocol, deployment, crossing, pool, header: work.header };
  const { request, credential, dropped, over } = provider.request(asked);
  const attempt = new Attempt(
    {
      request,
      over,
      protocol,
      rewrite: crossing
        ? (body) => translateReply(client, protocol, body, provider.quirks, shown)
        : dresser && ((body) => dresser.reply(body)),
      writer,
      dresser,
      quirks: provider.quirks,
      stream: call.stream,
      choices: call.choices,
      showsUsage: call.showsUsage,
      holdTerminator: work.holdTerminator,
      timeouts: attemptTimeouts(call, deployment, plan.settings, remainingMs),
    },
    plane.transport,
    plane.clock,
    cancel,
  );
  return { hop, attempt, retry, credential, dropped, writer, dresser, failure: null };
}

/** Where in the chain a request stands. */
interface Standing {
  hopIndex: number;
  attemptsHere: number;
  /** Its credential was refused and another one came. */
  renewed: boolean;
  deadline: number;
}

function decide(
  plane: DataPlane,
  work: Work,
  failure: ProviderFailure,
  { hopIndex, attemptsHere, renewed, deadline }: Standing,
): NextStep {
  const { call, plan, lease } = work;
  const { health } = plan.hops[hopIndex] ?? plan.hops[0];
  return nextStep({
    failure,
    retries: plan.settings.retries,
    attemptsHere,
    renewed,
    attemptsTotal: lease.attempts.length,
    othersLeft: hopIndex + 1 < plan.hops.length,
    fallback: allowsFallback(work),
    sideEffecting: call.platform.side_effecting === true,
    guardsToolResults: call.holdsToolResults && call.platform.retry_after_tool_results !== true,
    remainingMs: deadline - plane.clock.monotonic(),
    budgetAllows: () => plane.retryBudget.take(health, plan.settings.retries.budget),
    random: plane.random.float(),
  });
}

/** The longest a refused call waits for another credential. */
const RENEWAL_MS_MAX = 10_000;

/**
 * After a refused credential: whether the call may be made again with another one. Waits for that inside the deadline, but
 * only once at a deployment, and only when there is nowhere else to go; the provider hears of the refusal in any case.
 */
function renewal(
  plane: DataPlane,
  work: Work,
  { hop, attempt, credential, failure }: AttemptRecord,
  { hopIndex, renewed, deadline }: Standing,
  cancel: Cancel,
): boolean | Promise<boolean> {
  if (failure?.class !== "auth_failed" || !credential.use) return false;
  const { call, plan } = work;
  const answer = hop.provider.authenticator.refused(credential.use, Date.parse(attempt.headers.date ?? ""));
  const canMove = hopIndex + 1 < plan.hops.length && allowsFallback(work);
  if (typeof answer !== "object") return answer === true && !renewed;
  if (!renewed && !canMove && call.platform.side_effecting !== true) {
    return waitFor(plane, work.visit, answer, Math.min(RENEWAL_MS_MAX, deadline - plane.clock.monotonic()), cancel);
  }
  answer.catch(() => {});
  return false;
}

/** What a promise comes to; false when it takes too long, or the client leaves. */
async function waitFor(
  { clock }: DataPlane,
  visit: Visit,
  answer: Promise<boolean>,
  ms: number,
  cancel: Cancel,
): Promise<boolean> {
  const started = clock.monotonic();
  const came = await new Promise<boolean>((resolve) => {
    const finish = (renewed: boolean): void => {
      timer.cancel();
      forget();
      resolve(renewed);
    };
    let forget = (): void => {};
    const timer = clock.after(ms, () => finish(false));
    forget = cancel.onCancel(() => finish(false));
    answer.then(finish, () => finish(false));
  });
  visit.waitedMs += clock.monotonic() - started;
  return came;
}

function allowsFallback({ plan, call }: Work): boolean {
  return plan.settings.fallback && call.platform.fallback !== false;
}

/** Back-off. Ends early, with an error, when the client leaves. */
function pause(plane: DataPlane, visit: Visit, ms: number, cancel: Cancel): Promise<void> {
  if (ms <= 0 && !cancel.cancelled) return Promise.resolve();
  const started = plane.clock.monotonic();
  return new Promise((resolve, reject) => {
    const done = (act: () => void): void => {
      timer.cancel();
      forget();
      visit.waitedMs += plane.clock.monotonic() - started;
      act();
    };
    let forget = (): void => {};
    const timer = plane.clock.after(ms, () => done(resolve));
    forget = cancel.onCancel(() => done(() => reject(new GatewayError("cancelled", "the client left"))));
  });
}
