import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { sql as ledgerTables } from "./migrations/001-ledger.ts";
import { sql as feedbackTable } from "./migrations/002-feedback.ts";
import { sql as loneAttempts } from "./migrations/003-lone-attempts.ts";

/** An open SQLite database. */
export type Sqlite = Database.Database;

/** What SQLite throws: `code` is its extended result code, for example SQLITE_BUSY. */
const { SqliteError } = Database;

/** One step of the schema each; the version of a database is the number of steps it has seen (`user_version`). */
const MIGRATIONS: readonly string[] = [ledgerTables, feedbackTable, loneAttempts];

const RETRY_PAUSE_MS = 20;
const PAGE_BYTES = 8_192;

/** How a database is opened for writing. */
export interface OpenOptions {
  /** How long a locked database is waited for, ms. It blocks the thread. */
  busyTimeoutMs: number;
  /** True: a commit is on the disk when it returns. False: it survives a killed process, not a power cut. */
  durable: boolean;
}

/** Opens (and makes, and migrates) the ledger's database for writing. Throws SqliteError, or Error for a newer schema. */
export function openSqlite(path: string, options: OpenOptions): Sqlite {
  makeFile(path);
  const db = new Database(path, { timeout: options.busyTimeoutMs });
  try {
    whileBusy(options.busyTimeoutMs, () => useWal(db));
    db.pragma(`synchronous = ${options.durable ? "FULL" : "NORMAL"}`);
    whileBusy(options.busyTimeoutMs, () => migrate(db, path));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens it for reading beside a writer; null when there is nothing to read yet. Throws for a newer schema. */
export function openSqliteReader(path: string): Sqlite | null {
  let db: Sqlite;
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    const version = schemaVersion(db);
    if (version > MIGRATIONS.length) throw newerSchema(path, version);
    if (version > 0) return db;
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  return null;
}

/** True when the database is only in use by another: the same call may succeed a moment later. */
export function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/** True when one row is at fault (a constraint, a type), not the database: the other rows can still go in. */
export function isRowFault(error: unknown): boolean {
  if (error instanceof SqliteError) return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(error.code);
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

function isMissing(error: unknown): boolean {
  if (error instanceof SqliteError) return error.code === "SQLITE_CANTOPEN";
  return error instanceof TypeError && error.message.includes("directory does not exist");
}

/** `wx`: a file that exists is never opened here, since closing it would drop every lock this process has on it. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function useWal(db: Sqlite): void {
  if (db.pragma("journal_mode", { simple: true }) === "wal") return;
  // Of a database that is new: fewer and larger writes for rows that come in order.
  db.pragma(`page_size = ${PAGE_BYTES}`);
  db.pragma("journal_mode = WAL");
}

function migrate(db: Sqlite, path: string): void {
  const version = schemaVersion(db);
  if (version > MIGRATIONS.length) throw newerSchema(path, version);
  if (version === MIGRATIONS.length) return;
  const apply = db.transaction(() => {
    for (let done = schemaVersion(db); done < MIGRATIONS.length; done++) {
      db.exec(MIGRATIONS[done] ?? "");
      db.pragma(`user_version = ${done + 1}`);
    }
  });
  apply.immediate();
}

/** How many steps of the schema a database has seen. A reader may be ahead of the writer that migrates it. */
export function schemaVersion(db: Sqlite): number {
  return Number(db.pragma("user_version", { simple: true }));
}

function newerSchema(path: string, version: number): Error {
  return new Error(
    `${path} has ledger schema ${version}, but this build knows only ${MIGRATIONS.length}: start the newer sluicegate that wrote it, or give another --data-dir`,
  );
}

/** SQLite does not wait for every lock by itself: not while the journal mode changes. */
function whileBusy(forMs: number, action: () => void): void {
  const deadline = performance.now() + forMs;
  for (;;) {
    try {
      action();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_PAUSE_MS);
    }
  }
}
