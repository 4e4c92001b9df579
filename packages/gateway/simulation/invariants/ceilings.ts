import type { Capacity } from "../../src/config/snapshot.ts";
import type { InvoiceLine } from "../upstream/invoice.ts";
import type { Remains } from "../world/run.ts";

/** Between a reservation and its call, and between an end and its settlement, ms: the way to the store. */
const WAY_MS = 10;
/** Buckets hold a minute. */
const MINUTE_MS = 60_000;

/** No allocation is ever exceeded, however many replicas draw on it: told by what arrived at the provider. */
export function checkCeilings({ plan, upstreams, store, findings }: Remains): void {
  const shared = { isLost: store.everLost, replicas: plan.replicas.length };
  const lines = upstreams.invoice.lines;
  const { deployments, providers } = plan.snapshot;
  const wrong = (what: string): void => findings.add("ceilings hold", what);
  for (const { name, limits } of deployments.values())
    if (limits)
      checkOne(
        name,
        limits,
        lines.filter(({ deployment }) => deployment === name),
        shared,
        wrong,
      );
  for (const { name, limits } of providers.values())
    if (limits)
      checkOne(
        name,
        limits,
        lines.filter(({ deployment }) => deployments.get(deployment)?.provider === name),
        shared,
        wrong,
      );
}

function checkOne(
  name: string,
  { rpm, tpm, concurrency }: Capacity,
  lines: readonly InvoiceLine[],
  { isLost, replicas }: { isLost: boolean; replicas: number },
  wrong: (what: string) => void,
): void {
  if (concurrency !== null) {
    const most = atOnce(lines);
    // Alone, every replica has at least one place.
    if (most > (isLost ? 2 * concurrency + replicas : concurrency))
      wrong(`${name} had ${most} calls at once of ${concurrency}`);
  }
  // What replicas do alone with their part of a rate is a matter of the real store, which has tests of its own.
  if (isLost) return;
  const sent = lines.filter(({ sentMs }) => sentMs !== null);
  // A place that is held by what is never sent lets its bucket fill, where that would have been full: it is given back late.
  const heldMs = lines.reduce(
    (sum, line) => sum + (line.sentMs === null ? (line.endedMs ?? 0) - line.startedMs : 0),
    0,
  );
  if (rpm !== null && lowest(sent, rpm, () => 1) < -tolerance(rpm) - (rpm * heldMs) / MINUTE_MS - 1e-6)
    wrong(`${name}: over ${rpm} requests a minute`);
  if (tpm !== null) {
    const used = ({ billed }: InvoiceLine): number => billed.input_tokens + billed.output_tokens;
    const largest = Math.max(0, ...sent.map(used));
    // One request may be larger than a full bucket: it runs alone, and leaves a debt.
    if (lowest(sent, tpm, used) < -tolerance(tpm) - Math.max(0, largest - tpm))
      wrong(`${name}: over ${tpm} tokens a minute`);
  }
}

/** What may be missing without anybody's fault. */
function tolerance(perMinute: number): number {
  return (perMinute * WAY_MS) / MINUTE_MS;
}

function atOnce(lines: readonly InvoiceLine[]): number {
  const moments = lines.flatMap(({ startedMs, endedMs, saidMs }): [number, number][] => [
    [startedMs, 1],
    [saidMs ?? endedMs ?? Number.POSITIVE_INFINITY, -1],
  ]);
  // What ends at a moment makes room for what begins then.
  moments.sort(([a, x], [b, y]) => a - b || x - y);
  let now = 0;
  let most = 0;
  for (const [, by] of moments) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

/** The lowest level of a bucket that starts full, holds one minute, and is drawn on as the calls come. */
function lowest(lines: readonly InvoiceLine[], perMinute: number, drawn: (line: InvoiceLine) => number): number {
  let level = perMinute;
  let atMs = 0;
  let least = level;
  for (const line of [...lines].sort((a, b) => a.startedMs - b.startedMs)) {
    level = Math.min(perMinute, level + ((line.startedMs - atMs) * perMinute) / MINUTE_MS);
    atMs = line.startedMs;
    level -= drawn(line);
    least = Math.min(least, level);
  }
  return least;
}
