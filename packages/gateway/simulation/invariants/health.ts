import type { Remains } from "../world/run.ts";
import type { Case } from "./cases.ts";

/** Failures that breakers count. */
const BREAKING: readonly string[] = [
  "overloaded",
  "provider_error",
  "timeout",
  "connection_failed",
  "invalid_response",
];

/** What counts against a deployment is what it did: never a client that left, nor one that asked for the impossible. */
export function checkHealth({ watch, findings, upstreams }: Remains, cases: readonly Case[]): void {
  const left = new Map<string, number>();
  for (const { visit } of cases)
    if (visit.end === "left" && visit.endedMs !== null) left.set(visit.mark, visit.endedMs);
  const guilty = new Map<string, number>();
  for (const line of upstreams.invoice.lines) {
    const leftMs = left.get(line.mark);
    // Broken off by the gateway while its client was there: it was too slow.
    const gaveUp = line.end === "aborted" && (leftMs === undefined || (line.endedMs ?? 0) < leftMs);
    if (!gaveUp && (line.fails === null || !BREAKING.includes(line.fails))) continue;
    const name = `${line.replica} ${line.deployment}`;
    guilty.set(name, (guilty.get(name) ?? 0) + 1);
  }
  for (const [name, count] of watch.failures)
    if (count > (guilty.get(name) ?? 0))
      findings.add(
        "only a deployment's own failures count against it",
        `${name}: ${count} counted, ${guilty.get(name) ?? 0} were its own`,
      );
}
