import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const gateway = join(root, "packages", "gateway", "src");

/** The layers of ARCHITECTURE.md: a file imports from its own folder or from a strictly higher number. */
const LAYERS: Readonly<Record<string, number>> = {
  cli: 0,
  admin: 2,
  probes: 2.5,
  stages: 3,
  providers: 4,
  protocols: 5,
  routing: 5,
  resilience: 5,
  state: 5,
  limits: 5,
  alerts: 5,
  flags: 5,
  ledger: 5,
  tokens: 5,
  secrets: 5,
  http: 5,
  config: 6,
  telemetry: 6,
  core: 7,
};
/** Files at the top: the entry, the composition root and what it is put together from, the data plane. */
const TOP: Readonly<Record<string, number>> = {
  "main.ts": 0,
  "app.ts": 1,
  "front-door.ts": 1,
  "runtime.ts": 1,
  "offline-runtime.ts": 1,
  "try-config.ts": 1,
  "build-calm.ts": 1,
  "sample-loop.ts": 1,
  "listen-near.ts": 1,
  "start-gateway.ts": 1,
  "evaluation-gate.ts": 2,
  "open-secrets.ts": 1,
  "version.ts": 7,
  "handle-request.ts": 2,
  "handle-feedback.ts": 2,
  "handle-models.ts": 2,
  "handle-responses.ts": 2,
};
/** Which package may import which. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  client: ["@sluicegate/contract"],
  simulator: [],
  "adapter-ai-sdk": [],
  gateway: ["@sluicegate/contract", "@sluicegate/client", "@sluicegate/simulator", "@sluicegate/adapter-ai-sdk"],
};

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] ?? "");
}

/** The room a file lives in: the folder under src, or the file itself at the top. */
function roomOf(file: string): string {
  return relative(gateway, file).split(/[\\/]/)[0] ?? "";
}

function layerOf(room: string): number | undefined {
  return room.endsWith(".ts") ? TOP[room] : LAYERS[room];
}

test("every file of the gateway imports only from its own room or a higher layer", () => {
  const files = sources(gateway);
  expect(files.length).toBeGreaterThan(60);
  const wrong: string[] = [];
  let edges = 0;
  for (const file of files) {
    const from = roomOf(file);
    const layer = layerOf(from);
    if (layer === undefined) {
      wrong.push(`${from} is in no layer`);
      continue;
    }
    for (const specifier of importsOf(file).filter((name) => name.startsWith("."))) {
      const to = roomOf(resolve(dirname(file), specifier));
      edges++;
      // The files at the top of a layer belong together, and main.ts to the commands it starts.
      const sameTop = from.endsWith(".ts") && layerOf(to) === layer;
      if (to === from || sameTop || (layerOf(to) ?? -1) > layer) continue;
      wrong.push(`${relative(root, file)} (${layer}) imports ${specifier} (${layerOf(to)})`);
    }
  }
  expect(wrong).toEqual([]);
  expect(edges).toBeGreaterThan(150);
});

test("no provider's name is asked for outside providers/, no protocol's outside protocols/", () => {
  const wrong: string[] = [];
  for (const file of sources(gateway)) {
    const room = roomOf(file);
    const text = readFileSync(file, "utf8");
    if (
      !["providers", "config", "ledger"].includes(room) &&
      /provider(?:\.config)?\.(?:name|kind)\s*[!=]==?\s*"/.test(text)
    ) {
      wrong.push(`${relative(root, file)} branches on a provider`);
    }
    if (
      !["protocols", "providers"].includes(room) &&
      /(?:protocol|dialect)(?:\.name)?\s*[!=]==?\s*"(?:openai|anthropic|gemini|bedrock|cohere)/.test(text)
    ) {
      wrong.push(`${relative(root, file)} branches on a protocol`);
    }
  }
  expect(wrong).toEqual([]);
});

test("packages import each other only along the allowed edges", () => {
  const wrong: string[] = [];
  for (const [name, allowed] of Object.entries(EDGES)) {
    const files = sources(join(root, "packages", name, "src"));
    expect(files.length, name).toBeGreaterThan(3);
    for (const file of files) {
      for (const specifier of importsOf(file)) {
        if (specifier.startsWith("@sluicegate/") && !allowed.includes(specifier))
          wrong.push(`${relative(root, file)}: ${specifier}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});
