import { fstatSync } from "node:fs";
import type { RequestRow } from "@sluicegate/contract";
import { pino } from "pino";
import { accessLineWriter } from "./access-line.ts";
import { fileOutput } from "./file-output.ts";
import { PipeOutput } from "./pipe-output.ts";

/** Where the gateway's lines go. Nothing here throws, and no content of any request is written. */
export interface Log {
  info(message: string, facts?: Record<string, unknown>): void;
  warn(message: string, facts?: Record<string, unknown>): void;
  error(message: string, facts?: Record<string, unknown>): void;
  /** One line a request (SPEC OBS-3): the Request shape, as it is now and stays. */
  access(row: RequestRow): void;
  /** Something that must not happen happened: the stack goes here, never to the client. */
  fault(requestId: string, cause: unknown): void;
  /** Writes out what is buffered. */
  flush(): void;
}

/**
 * JSON lines on a file descriptor, access lines written off the request's tick. A descriptor that takes nothing loses lines, and
 * what waits for a slow one is bounded. What is held or waits is written out when the process ends.
 */
export function createLog(options: {
  fd: number;
  level: "debug" | "info" | "warn" | "error" | "silent";
  access: boolean;
}): Log {
  // A file takes a write at once; a pipe may make one wait for its reader.
  const pipe = isFile(options.fd) ? null : new PipeOutput(options.fd);
  const write = pipe ? (text: string) => pipe.write(text) : fileOutput(options.fd);
  const lines = heldLines(write);
  // A destination of its own: pino's ends the process, or waits for ever, where the descriptor cannot be written to.
  const logger = pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write });
  const flush = (): void => {
    lines.flush();
    pipe?.flushNow();
  };
  process.once("exit", flush);
  return {
    info: (message, facts = {}) => logger.info(facts, message),
    warn: (message, facts = {}) => logger.warn(facts, message),
    error: (message, facts = {}) => logger.error(facts, message),
    access(row) {
      if (options.access) lines.add(row);
    },
    fault: (requestId, cause) => logger.error({ request_id: requestId, err: cause }, "unexpected fault"),
    flush,
  };
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

/** Access lines are held together for this long, or until they are this many characters: one write for many requests. */
const HOLD_MS = 100;
const HOLD_CHARS = 65_536;
/** Rows become lines this many at a time: in a row, while the code is warm, they cost a fraction. */
const ROWS_AT_ONCE = 16;

/** Holds the rows it is given, which must not change any more, and writes them out as lines. */
function heldLines(write: (text: string) => void): { add(row: RequestRow): void; flush(): void } {
  let rows: RequestRow[] = [];
  let held = "";
  let timer: NodeJS.Timeout | null = null;
  const lineOf = accessLineWriter();
  const encode = (): void => {
    for (const row of rows) held += lineOf(row);
    rows = [];
  };
  const flush = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
    encode();
    const text = held;
    held = "";
    if (text !== "") write(text);
  };
  return {
    flush,
    add(row) {
      rows.push(row);
      if (rows.length >= ROWS_AT_ONCE) encode();
      if (held.length >= HOLD_CHARS) flush();
      else timer ??= setTimeout(flush, HOLD_MS);
    },
  };
}

/** A log that keeps quiet: for tests and for embedding. */
export const silentLog: Log = {
  info: () => {},
  warn: () => {},
  error: () => {},
  access: () => {},
  fault: () => {},
  flush: () => {},
};
