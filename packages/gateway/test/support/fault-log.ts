import { expect } from "vitest";
import { type Log, silentLog } from "../../src/telemetry/log.ts";

/** A log that keeps what must never happen, and every access line. */
export interface FaultLog extends Log {
  faults: unknown[];
  lines: string[];
  /** Fails when the gateway has met a fault of its own. */
  expectNoFault(): void;
}

/** Starts one. */
export function faultLog(): FaultLog {
  const faults: unknown[] = [];
  const lines: string[] = [];
  const line = (message: string, facts?: unknown): void => void lines.push(`${message} ${JSON.stringify(facts)}`);
  return {
    ...silentLog,
    info: line,
    warn: line,
    error: line,
    access: (row) => line("request", row),
    faults,
    lines,
    fault: (_requestId, cause) => void faults.push(cause),
    expectNoFault: () => expect(faults).toEqual([]),
  };
}
