import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** A place in a spool: a segment, the bytes of it that lie before, and the lines in those bytes. */
export interface Position {
  segment: number;
  bytes: number;
  lines: number;
}

/** Where a spool begins. */
export const SPOOL_START: Position = { segment: 1, bytes: 0, lines: 0 };

/** The directory all gateways of one data dir keep their spools in. */
export function spoolRoot(dataDir: string): string {
  return join(dataDir, "spool");
}

/** Makes a directory of the spool, for its owner's eyes only. */
export function makeDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Path of one segment. */
export function segmentPath(directory: string, segment: number): string {
  return join(directory, `${String(segment).padStart(6, "0")}.jsonl`);
}

/** Numbers of the segments in a directory, ascending; none when it is gone. */
export function listSegments(directory: string): number[] {
  return listNames(directory)
    .map((name) => /^(\d{6,})\.jsonl$/.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

/** Names in a directory; none when it is gone. */
export function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** True when `a` is at or past `b`. */
export function reached(a: Position, b: Position): boolean {
  return a.segment > b.segment || (a.segment === b.segment && a.bytes >= b.bytes);
}
