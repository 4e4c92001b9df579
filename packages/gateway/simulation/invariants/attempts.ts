import type { Route } from "../../src/config/snapshot.ts";
import { CLASSES } from "../../src/core/errors.ts";
import type { InvoiceLine } from "../upstream/invoice.ts";
import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

/** Failures after which the same deployment may be asked again although another one waits (ruling 3). */
const IN_PLACE = ["connection_failed", "provider_error", "invalid_response"];
/** Refusals that say that no work was done. */
const UNWORKED = ["limited", "overloaded", "quota", "auth", "gone", "filter", "overflow", "bad", "error_first"];
/** Calls for one request, whatever its chain. */
const CALLS_MAX = 12;
/** Rounding of times in rows, and of virtual time, ms. */
const SLACK_MS = 0.11;
/** A date has whole seconds, and says them by a clock that may be off by so much, ms. */
const DATE_SLACK_MS = 1_500;

type Wrong = (rule: string, what: string) => void;
type Attempts = Case["attempts"];

/** What may follow on a failure, and how often: told by the calls alone, whatever the gateway thought of them. */
export function checkAttempts(one: Case, remains: Remains): void {
  const { attempts, calls } = one;
  const chain = attempts
    .map(({ row }) => `${row.deployment}:${row.error_class ?? row.status}${row.hedge ? " (hedge)" : ""}`)
    .join(" ");
  const wrong: Wrong = (rule, what) => remains.findings.add(rule, `${nameOf(one)} [${chain}]: ${what}`);
  for (const attempt of attempts) checkClass(attempt, wrong);
  checkCounts(one, remains, wrong);
  checkMoments(one, wrong);
  checkAfterFailures(one, remains, wrong);
  if (attempts.some(({ row }) => row.hedge)) checkHedge(one, wrong);
  else
    checkSteps(
      one,
      wrong,
      (name, untilMs) => isFree(name, remains) && isSpotless(remains.upstreams.invoice.lines, name, untilMs),
    );
  if (one.spec.platform["side_effecting"] === true && calls.length > 1)
    wrong("side effects happen once", `${calls.length} calls`);
}

function checkCounts({ route, calls, spec }: Case, { plan }: Remains, wrong: Wrong): void {
  const perHop = new Map<string, number>();
  for (const { deployment } of calls) perHop.set(deployment, (perHop.get(deployment) ?? 0) + 1);
  const most = Math.max(route.retries.attempts, 1);
  for (const [deployment, count] of perHop) if (count > most) wrong("attempts a hop", `${count} at ${deployment}`);
  const hops = Math.max(route.chain.length + 1, ...plan.snapshot.rules.map(({ chain }) => chain.length));
  if (calls.length > hops * most || calls.length > CALLS_MAX) wrong("attempts a request", `${calls.length} calls`);
  const fallback = route.fallback && spec.platform["fallback"] !== false;
  if (!fallback && perHop.size > 1) wrong("no fallback where it is forbidden", `${perHop.size} deployments`);
}

/** Nothing is tried for somebody who has an answer, or has left. */
function checkMoments({ visit, calls, attempts }: Case, wrong: Wrong): void {
  for (const { startedMs, deployment } of calls) {
    if (visit.firstOutputMs !== null && startedMs > visit.firstOutputMs)
      wrong("nothing is tried behind the first output", `${deployment} at ${startedMs}`);
    if (visit.end === "left" && visit.endedMs !== null && startedMs > visit.endedMs)
      wrong("nothing is tried for one that left", `${deployment} at ${startedMs}`);
    for (const { row, call } of attempts)
      if (row.status === "ok" && call?.firstOutputMs != null && startedMs > call.firstOutputMs)
        wrong("nothing follows on success", `${deployment} at ${startedMs}`);
  }
}

/** Nobody shops for a compliant model: what is final is final, also where two calls ran at once. */
function checkAfterFailures({ attempts, calls, route }: Case, { plan }: Remains, wrong: Wrong): void {
  for (const { row, call } of attempts) {
    if (!call?.endedMs) continue;
    // What it was, whatever it was taken for; unless it was cut off before it was.
    const cutOff = row.error_class === "cancelled" || row.error_class === "timeout";
    const failed = cutOff ? row.error_class : call.fails;
    if (failed === null || failed === "cancelled") continue;
    const { retryable, fallOver } = CLASSES[failed];
    // What only a hedge's deployment cannot take is no word on the request; a filter's is.
    if (retryable || fallOver || (row.hedge && failed !== "content_filtered")) continue;
    const { endedMs } = call;
    for (const later of calls.filter(({ startedMs }) => startedMs > endedMs)) {
      if (failed === "context_overflow" && isLarger(plan, route, row.deployment, later.deployment)) continue;
      const windows = [row.deployment, later.deployment].map(
        (name) => plan.snapshot.deployments.get(name)?.contextWindow,
      );
      wrong("no failover of the forbidden kinds", `${later.deployment} after ${failed}, windows ${windows.join(", ")}`);
    }
  }
}

function isLarger({ snapshot }: Remains["plan"], route: Route, from: string, to: string): boolean {
  // One whose window is not known is no larger one, and any that is known may be.
  const window = (name: string): number => snapshot.deployments.get(name)?.contextWindow ?? 0;
  return route.contextFallback && window(to) > window(from);
}

/** Nothing is ever full there. */
function isFree(deployment: string, { plan }: Remains): boolean {
  const { deployments, providers } = plan.snapshot;
  const config = deployments.get(deployment);
  return config?.limits === undefined && providers.get(config?.provider ?? "")?.limits === undefined;
}

/** It has not failed anybody up to then: there is no reason to keep away from it. */
function isSpotless(lines: readonly InvoiceLine[], deployment: string, untilMs: number): boolean {
  return lines.every(
    (line) =>
      line.deployment !== deployment || line.startedMs > untilMs || (line.fails === null && line.end === "ended"),
  );
}

/** One after the other: what each failure allows. */
function checkSteps(one: Case, wrong: Wrong, spotless: (deployment: string, untilMs: number) => boolean): void {
  const { spec, route, attempts } = one;
  const tried = new Set<string>();
  for (let i = 0; i < attempts.length; i++) {
    const { row, call } = attempts[i] as Attempts[number];
    tried.add(row.deployment);
    const next = attempts[i + 1];
    if (!next) return;
    const failed = row.error_class;
    if (failed === null) {
      wrong("nothing follows on success", `${row.deployment} was good`);
      continue;
    }
    if (next.row.deployment !== row.deployment) continue;
    if (!next.row.retry) wrong("retries are called so", `attempt ${next.row.n}`);
    if (!CLASSES[failed].retryable) wrong("no retry of the forbidden kinds", `after ${failed}`);
    const guarded = spec.toolResults && spec.platform["retry_after_tool_results"] !== true;
    if (guarded && call && call.sentMs !== null && !UNWORKED.includes(call.act))
      wrong("tool results are not repeated after an ambiguous failure", `after ${call.act}`);
    const fallback = route.fallback && spec.platform["fallback"] !== false;
    const others =
      fallback && route.chain.some((name) => !tried.has(name) && spotless(name, next.call?.startedMs ?? 0));
    if (others && !IN_PLACE.includes(failed) && isPlain(one))
      wrong("with others left, only faults of the moment are retried", `after ${failed}`);
    const waited = next.call && call?.endedMs != null ? next.call.startedMs - call.endedMs : null;
    if (call?.retryAfterMs != null && waited !== null)
      if (waited + (call.isDate ? DATE_SLACK_MS : SLACK_MS) < call.retryAfterMs)
        wrong("Retry-After is honoured", `${waited} ms of ${call.retryAfterMs}`);
  }
}

/** Its whole chain was in the plan, and nothing but its health spoke against any of it. */
function isPlain({ spec, booked, route }: Case): boolean {
  const { platform, dialect, toolResults, maxTokens } = spec;
  const routed = booked?.row.rule === "chain" && route.canary.length === 0;
  return (
    routed && dialect === "openai-chat" && !toolResults && maxTokens === null && !("latency_budget_ms" in platform)
  );
}

/** Two at once: never of what must not be done twice, never more than two, and only one that is called a hedge. */
function checkHedge({ spec, attempts, route }: Case, wrong: Wrong): void {
  const { platform } = spec;
  if (attempts.filter(({ row }) => row.hedge).length > 1) wrong("hedges", "two of them");
  if (platform["side_effecting"] === true) wrong("hedges", "of a request with side effects");
  if (platform["hedge"] === false || (!route.hedge && platform["hedge"] !== true))
    wrong("hedges", "nobody asked for one");
  if (spec.toolResults && platform["retry_after_tool_results"] !== true) wrong("hedges", "of tool results");
  if (attempts.filter(({ row }) => row.status === "ok").length > 1) wrong("hedges", "two winners");
}

/** A failure is taken for what it was. */
function checkClass({ row, call }: Attempts[number], wrong: Wrong): void {
  if (!call || row.error_class === call.fails) return;
  // Whatever it would have been: it was cut off before it was.
  if (row.error_class === "cancelled" || row.error_class === "timeout") return;
  if (row.error_class === "connection_failed" && call.sentMs === null) return;
  wrong("failures are told apart", `${call.act} was taken for ${row.error_class ?? "good"}`);
}
