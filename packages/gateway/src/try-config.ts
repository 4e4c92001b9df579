import type { TriedConfig } from "./admin/parts.ts";
import { type LoadOptions, loadConfig } from "./config/load.ts";
import { offlineRuntime } from "./offline-runtime.ts";

/**
 * Loads a config's text and makes it into what decisions are taken with, without serving it. It stands where the config that is
 * served does, has no overlay, and what wants a secret that is not there is left out of it.
 */
export async function tryText(options: LoadOptions, file: string, text: string): Promise<TriedConfig> {
  const { environment, clock } = options;
  const { snapshot, problems } = await loadConfig({
    ...options,
    file,
    envName: undefined,
    environment: { ...environment, get: (name) => (name === "SLUICEGATE_ENV" ? undefined : environment.get(name)) },
    texts: { base: { path: file, name: "config", text }, overlay: null, savedAt: null },
    allowMissingSecrets: true,
    probe: undefined,
  });
  return { runtime: snapshot && offlineRuntime(snapshot, clock), problems };
}
