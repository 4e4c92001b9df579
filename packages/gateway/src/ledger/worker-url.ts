import { workerUrl as beside } from "../core/worker-url.ts";

/** A compiled worker of this folder. */
export function workerUrl(name: string): URL {
  return beside(import.meta.url, name);
}
