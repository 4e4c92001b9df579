import { type FSWatcher, watch } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock, Timer } from "../core/clock.ts";

/** Editors write in several steps, and Kubernetes swaps a link: one change is several events. */
const DEBOUNCE_MS = 100;
/** A folder that never rests (a ledger or a log lies in it) puts the look off no longer than this. */
const DEBOUNCE_MS_MAX = 500;
/** Network and bind mounts send no events, so the files are looked at as well. */
const POLL_MS = 2_000;

/** A running watch. */
export interface FileWatch {
  close(): void;
}

/**
 * Calls `onChange` when any of the files has changed, appeared or gone: by events of their folders (so that a file that
 * is replaced, or a link to it, is seen) and by a look every 2 s. `files` is asked anew each time.
 */
export function watchFiles(files: () => readonly string[], onChange: () => void, clock: Clock): FileWatch {
  const folders = new Map<string, FSWatcher>();
  let known: string | null = null;
  let debounce: Timer | null = null;
  let lookBy: number | null = null;
  let poll: Timer | null = null;
  let closed = false;

  const look = async (): Promise<void> => {
    const paths = files();
    const wanted = await foldersOf(paths);
    const now = await signatureOf(paths);
    if (closed) return;
    follow(wanted);
    const changed = known !== null && known !== now;
    known = now;
    if (changed) onChange();
  };
  const follow = (wanted: ReadonlySet<string>): void => {
    for (const [folder, watcher] of folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      folders.delete(folder);
    }
    for (const folder of wanted) if (!folders.has(folder)) watchFolder(folder);
  };
  const touched = (): void => {
    const now = clock.monotonic();
    lookBy ??= now + DEBOUNCE_MS_MAX;
    debounce?.cancel();
    debounce = clock.after(Math.min(DEBOUNCE_MS, lookBy - now), () => {
      lookBy = null;
      void look();
    });
  };
  const watchFolder = (folder: string): void => {
    try {
      const watcher = watch(folder, { persistent: false }, touched);
      watcher.on("error", () => {
        watcher.close();
        folders.delete(folder);
      });
      folders.set(folder, watcher);
    } catch {
      // No such folder, or no watches left: the look every 2 s goes on, and tries again.
    }
  };
  const tick = (): void => {
    poll = clock.after(POLL_MS, () => void look().finally(() => (closed ? undefined : tick())));
  };

  void look();
  tick();
  return {
    close() {
      closed = true;
      debounce?.cancel();
      poll?.cancel();
      for (const watcher of folders.values()) watcher.close();
      folders.clear();
    },
  };
}

/** The folders the files are in, and those that links lead to. */
async function foldersOf(paths: readonly string[]): Promise<Set<string>> {
  const folders = new Set<string>();
  for (const path of paths) {
    folders.add(dirname(path));
    const real = await realpath(path).catch(() => path);
    folders.add(dirname(real));
  }
  return folders;
}

/** Changes whenever one of the files does. */
async function signatureOf(paths: readonly string[]): Promise<string> {
  const parts: string[] = [];
  for (const path of paths) {
    const facts = await stat(path).catch(() => null);
    parts.push(facts ? `${path} ${facts.ino} ${facts.size} ${facts.mtimeMs} ${facts.ctimeMs}` : `${path} gone`);
  }
  return parts.join("\n");
}
