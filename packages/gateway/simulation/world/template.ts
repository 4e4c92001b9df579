import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environmentOf } from "../../src/config/env.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Deployment, Route, Snapshot, Tenant } from "../../src/config/snapshot.ts";
import { systemClock } from "../../src/core/clock.ts";

/** What worlds are made from: a config as the loader makes it, with one of each. */
export interface Template {
  snapshot: Snapshot;
  deployment: Deployment;
  route: Route;
  tenant: Tenant;
}

/** Providers by what they speak. */
export const PROVIDERS = { chat: "chatty", messages: "antsy" } as const;

const TEXT = `
providers:
  chatty: { kind: openai-compatible, base_url: "http://chat.test/v1", api_key: k-chat-0123456789 }
  antsy: { kind: anthropic, base_url: "http://messages.test", api_key: k-messages-0123456789 }
deployments:
  first: { provider: chatty, model: model-first-2026-01-01, price: { input: 2.50, cached_input: 1.25, output: 10 } }
routes:
  default: { chain: [first] }
tenants:
  acme: { models: { allow: "*" } }
keys: []
`;

/** Loads a config's text the way the server does. Throws for one with errors. */
async function snapshotOf(text: string): Promise<Snapshot> {
  const dir = mkdtempSync(join(tmpdir(), "sluicegate-simulation-"));
  try {
    writeFileSync(join(dir, "sluicegate.yaml"), text);
    const { snapshot, problems } = await loadConfig({
      environment: environmentOf(new Map(), dir),
      dataDir: null,
      bookPrice: () => [],
      clock: { ...systemClock, now: () => Date.UTC(2026, 10, 29) },
    });
    if (!snapshot) throw new Error(problems.map(({ path, message }) => `${path}: ${message}`).join("\n"));
    return snapshot;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The template; to be loaded once a process. */
export async function loadTemplate(): Promise<Template> {
  const snapshot = await snapshotOf(TEXT);
  const deployment = snapshot.deployments.get("first");
  const route = snapshot.routes.get("default");
  const tenant = snapshot.tenants.get("acme");
  if (!deployment || !route || !tenant) throw new Error("the template lacks a part");
  return { snapshot, deployment, route, tenant };
}
