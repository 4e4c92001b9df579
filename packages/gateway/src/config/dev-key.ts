import { hash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../core/random.ts";
import type { KeyEntry } from "./snapshot.ts";

/** A key for trying things out, shown at every start. */
export interface DevKey {
  /** The whole key. */
  text: string;
  entry: KeyEntry;
}

/**
 * The key of a start without a config: made once, kept in `<data-dir>/dev-key` (mode 0600), the same at every start.
 * Two starts at the same moment agree on one.
 */
export function devKey(dataDir: string, random: Random): DevKey {
  const path = join(dataDir, "dev-key");
  mkdirSync(dataDir, { recursive: true });
  try {
    const fresh = `sg_dev_${Buffer.from(random.bytes(32)).toString("hex")}`;
    writeFileSync(path, `${fresh}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const text = readFileSync(path, "utf8").trim();
  if (!/^sg_dev_[0-9a-f]{64}$/.test(text))
    throw new Error(`${path} does not hold a key; remove it, and the next start makes one`);
  return {
    text,
    entry: {
      id: "dev",
      hash: hash("sha256", text),
      tenant: "default",
      team: null,
      application: null,
      name: "made at the first start",
      models: null,
      expiresAt: null,
      source: "dev",
    },
  };
}
