import type { Remains } from "../world/run.ts";
import { type Case, nameOf } from "./cases.ts";

/** Rounding of times, and two last round trips to the shared store (a probe, a place) behind a deadline, ms. */
const SLACK_MS = 10;

/** Nobody waits past the deadline that holds for them. */
export function checkTimes(one: Case, { findings }: Remains): void {
  const { spec, visit, route, attempts } = one;
  const name = nameOf(one);
  const wrong = (what: string): void => findings.add("nobody waits past the deadline", `${name}: ${what}`);
  if (visit.sentWholeMs === null) return;
  const deadlineMs = visit.startedMs + totalMs(one);
  const since = (ms: number): string => `${Math.round(ms - visit.startedMs)} ms after it came`;
  if (visit.end === "answered" && visit.endedMs !== null) {
    const firstMs = visit.firstOutputMs ?? visit.endedMs;
    // A client that sends its body slowly uses up its own time.
    const fromMs = Math.max(deadlineMs, visit.sentWholeMs);
    if (firstMs > fromMs + SLACK_MS) wrong(`the first of the answer came ${since(firstMs)}`);
    if (!spec.stream && spec.reading.kind === "fast" && visit.endedMs > fromMs + SLACK_MS)
      wrong(`the answer came ${since(visit.endedMs)}`);
  }
  for (const { call } of attempts) {
    if (!call) continue;
    if (call.startedMs > Math.max(deadlineMs, visit.sentWholeMs) + SLACK_MS)
      wrong(`a call was made ${since(call.startedMs)}`);
    const endedMs = call.endedMs ?? Number.POSITIVE_INFINITY;
    const mostMs =
      spec.stream && call.firstOutputMs !== null ? route.timeouts.streamMaxMs + LINGER_MS : hopMs(one) + SLACK_MS;
    if (endedMs - call.startedMs > mostMs + SLACK_MS)
      wrong(`${call.id} ran for ${Math.round(endedMs - call.startedMs)} ms of ${mostMs}`);
  }
}

/** How long a connection may stay open behind the end of its stream, ms. */
const LINGER_MS = 1_000;

/** Ruling 4, said once more: streams have 60 s to their first output, whole answers 60 s for each 2,000 tokens of their cap. */
function totalMs({ spec, route }: Case): number {
  const total = route.timeouts.totalMs ?? (spec.stream ? 60_000 : jsonMs(spec.maxTokens, spec.dialect));
  const budget = spec.platform["latency_budget_ms"];
  return Math.min(total, typeof budget === "number" ? budget : Number.POSITIVE_INFINITY);
}

function hopMs(one: Case): number {
  const { spec, route } = one;
  const hop = route.timeouts.hopMs ?? (spec.stream ? 15_000 : jsonMs(spec.maxTokens, spec.dialect));
  return Math.min(hop, totalMs(one));
}

function jsonMs(maxTokens: number | null, dialect: string): number {
  // This dialect has to name a cap, and its clients here name this one.
  const cap = maxTokens ?? (dialect === "anthropic-messages" ? 1_024 : 4_096);
  return 60_000 * Math.max(1, cap / 2_000);
}
