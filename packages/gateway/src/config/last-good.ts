import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The text of one config file. `path` is absolute; `name` is what messages call it. */
export interface ConfigText {
  path: string;
  name: string;
  text: string;
}

/** A config as its files had it: references in it are not resolved, so no secret is in it that was not in the files. */
export interface ConfigTexts {
  base: ConfigText;
  overlay: ConfigText | null;
  /** When a last good config was kept (ISO 8601); null: these texts come from the files themselves. */
  savedAt: string | null;
}

/** Where the last good config of a data dir is kept. */
export function lastGoodPath(dataDir: string): string {
  return join(dataDir, "last-good", "config.json");
}

/** Keeps a config that is being served, so that a start without its files can go on with it. Readable by the owner only. */
export async function saveLastGood(dataDir: string, texts: ConfigTexts, nowMs: number): Promise<void> {
  const path = lastGoodPath(dataDir);
  await mkdir(join(dataDir, "last-good"), { recursive: true, mode: 0o700 });
  const kept: ConfigTexts = { savedAt: new Date(nowMs).toISOString(), base: texts.base, overlay: texts.overlay };
  const half = `${path}.${process.pid}.tmp`;
  await writeFile(half, JSON.stringify(kept, null, 2), { mode: 0o600 });
  await rename(half, path);
}

/** The config that was kept, or null when there is none that can be read. */
export async function readLastGood(dataDir: string): Promise<ConfigTexts | null> {
  try {
    const kept: unknown = JSON.parse(await readFile(lastGoodPath(dataDir), "utf8"));
    return isConfigTexts(kept) ? kept : null;
  } catch {
    // None was kept, or the file is cut: either way there is nothing to go on with.
    return null;
  }
}

function isConfigTexts(kept: unknown): kept is ConfigTexts {
  const { savedAt, base, overlay } = (kept ?? {}) as Partial<ConfigTexts>;
  return typeof savedAt === "string" && isText(base) && (overlay === null || isText(overlay));
}

function isText(kept: unknown): kept is ConfigText {
  const { path, name, text } = (kept ?? {}) as Partial<ConfigText>;
  return [path, name, text].every((part) => typeof part === "string");
}
