import { renameSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { listNames, listSegments, makeDirectory, segmentPath } from "./segments.ts";
import { isBusy } from "./sqlite.ts";

const LOCK_NAME = "owner.lock";
const UNNAMED = ".new-";
const UNNAMED_STALE_MS = 3_600_000;

/**
 * A spool directory that is ours. The lock is an exclusive SQLite transaction on an empty file: the kernel frees it
 * however this process ends, and it holds between processes as well as between threads of one.
 */
export interface OwnedDirectory {
  path: string;
  /** Gives the directory up; its files stay for another gateway to adopt. */
  release(): void;
  /** Deletes the directory with its segments; to be done before it is given up. */
  remove(): void;
}

/** Makes and owns `<root>/<name>`. It gets its name only once it is locked, so that nobody can take it for orphaned. */
export function createOwned(root: string, name: string): OwnedDirectory {
  const unnamed = join(root, UNNAMED + name);
  makeDirectory(unnamed);
  const lock = lockIn(unnamed);
  if (!lock) throw new Error(`${unnamed}: the spool directory is in use by another process`);
  const path = join(root, name);
  renameSync(unnamed, path);
  return owned(path, lock);
}

/** Owns a directory whose gateway is dead; null while it lives, or when the directory is gone. */
export function adoptOwned(path: string): OwnedDirectory | null {
  const lock = lockIn(path);
  return lock && owned(path, lock);
}

/** Names of the spool directories under `root`. What a start left behind half made is cleared away after an hour. */
export function listOwned(root: string, nowMs: number): string[] {
  const names = listNames(root);
  for (const name of names.filter((candidate) => candidate.startsWith(UNNAMED))) {
    const path = join(root, name);
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
    if (nowMs - made > UNNAMED_STALE_MS) rmSync(path, { recursive: true, force: true });
  }
  return names.filter(
    (name) => !name.startsWith(".") && statSync(join(root, name), { throwIfNoEntry: false })?.isDirectory(),
  );
}

function lockIn(directory: string): Database.Database | null {
  if (!statSync(directory, { throwIfNoEntry: false })) return null;
  const lock = new Database(join(directory, LOCK_NAME), { timeout: 0 });
  try {
    // No journal file: it would be opened beside the lock and left there by a kill.
    lock.pragma("journal_mode = MEMORY");
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

function owned(path: string, lock: Database.Database): OwnedDirectory {
  return {
    path,
    release: () => {
      lock.close();
    },
    remove: () => {
      for (const segment of listSegments(path)) rmSync(segmentPath(path, segment), { force: true });
      rmSync(join(path, LOCK_NAME), { force: true });
      try {
        rmdirSync(path);
      } catch {
        // Something else lies in it: the next adoption finds no segments and tries again.
      }
    },
  };
}
