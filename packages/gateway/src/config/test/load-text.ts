import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "../../core/clock.ts";
import { environmentOf } from "../env.ts";
import { type LoadedConfig, type LoadOptions, loadConfig } from "../load.ts";
import type { BookPrice } from "../price.ts";

/** Files by name, of which `sluicegate.yaml` is the config. */
export type Files = Record<string, string>;

const RATES = { input: 3e9, cachedInput: 3e9, cacheWrite: 3e9, cacheWrite1h: 3e9, output: 10e9 };

/** A price for every model, so that no test warns of prices unless it is about them. */
const anyPrice: BookPrice = () => [{ fromMs: 0, price: { ...RATES, tiers: [], source: "book" } }];

/** A new folder with these files, and what removes it. */
export function folderWith(files: Files): { dir: string; remove: () => void } {
  const dir = mkdtempSync(join(tmpdir(), "sluicegate-config-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Options that load from a folder with just these variables. */
export function optionsFor(dir: string, variables: Record<string, string> = {}): LoadOptions {
  const environment = environmentOf(new Map(Object.entries(variables)), dir);
  return { environment, dataDir: null, bookPrice: anyPrice, clock: { ...systemClock, now: () => NOW } };
}

/** The day on which these tests are run, whenever that is. */
const NOW = Date.parse("2026-11-30T00:00:00Z");

/** Loads a config from its text, and the files beside it. */
export async function loadText(
  text: string,
  rest: Partial<LoadOptions> & { variables?: Record<string, string>; files?: Files } = {},
): Promise<LoadedConfig> {
  const { variables, files, ...options } = rest;
  const folder = folderWith({ "sluicegate.yaml": text, ...files });
  try {
    return await loadConfig({ ...optionsFor(folder.dir, variables), ...options });
  } finally {
    folder.remove();
  }
}

/** Problems as short lines: `3:5 error routes.default: …`. */
export function lines({ problems }: LoadedConfig): string[] {
  return problems.map(({ line, column, severity, path, message, file }) => {
    const place = line === null ? (file ?? "-") : `${line}:${column}`;
    return `${place} ${severity} ${path}: ${message}`;
  });
}
