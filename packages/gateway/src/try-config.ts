import type { TriedConfig } from "./admin/parts.ts";
import { type LoadOptions, loadConfig } from "./config/load.ts";
import { offlineRuntime } from "./offline-runtime.ts";

/** Loads a config and makes it into what decisions are taken with, without serving it. */
export async function tryConfig(options: LoadOptions): Promise<TriedConfig> {
  const { snapshot, problems } = await loadConfig(options);
  return { runtime: snapshot && offlineRuntime(snapshot, options.clock), problems };
}

/** The same for a text, which stands where the file of `options` is, and has no overlay. */
export function tryText(options: LoadOptions, file: string, text: string): Promise<TriedConfig> {
  const { environment } = options;
  return tryConfig({
    ...options,
    file,
    envName: undefined,
    environment: { ...environment, get: (name) => (name === "SLUICEGATE_ENV" ? undefined : environment.get(name)) },
    texts: { base: { path: file, name: "config", text }, overlay: null, savedAt: null },
    allowMissingSecrets: true,
    probe: undefined,
  });
}
