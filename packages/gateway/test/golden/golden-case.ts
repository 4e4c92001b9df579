import { readdirSync, readFileSync } from "node:fs";
import { aDeployment } from "../../src/config/fixtures/parts.ts";
import type { ProviderConfig, ProviderKind } from "../../src/config/snapshot.ts";
import type { Call } from "../../src/core/call.ts";
import { inOnePiece } from "../../src/core/pieces.ts";
import { Secret } from "../../src/core/secret.ts";
import type { Protocol, Target } from "../../src/protocols/protocol.ts";
import { addressed } from "../../src/protocols/registry.ts";
import { openCrossing } from "../../src/protocols/translate.ts";
import { buildProvider } from "../../src/providers/build.ts";
import type { Provider } from "../../src/providers/provider.ts";

/** The chat APIs that providers speak: what a golden case is translated to. */
export const TARGETS = ["openai-chat", "openai-responses", "anthropic-messages", "gemini-generate"] as const;

/** One of them. */
export type TargetName = (typeof TARGETS)[number];

/** A client's request, written by hand: one file in `cases`. */
export interface GoldenCase {
  name: string;
  /** What is special about it. */
  about: string;
  /** Where the client posts it. */
  path: string;
  headers?: Record<string, string>;
  /** Models of the targets, where the usual one will not do. */
  models?: Partial<Record<TargetName, string>>;
  body: Record<string, unknown>;
}

/** What becomes of a case at one target: the HTTP request, or the fields of meaning (in the client's words) that refuse it. */
export type Outcome =
  | { path: string; headers: Record<string, string>; dropped: string[]; body: unknown }
  | { refused: string[] };

const KINDS: Record<TargetName, ProviderKind> = {
  "openai-chat": "openai",
  "openai-responses": "openai",
  "anthropic-messages": "anthropic",
  "gemini-generate": "gemini",
};

/** Models that take as much as any of their vendor's. */
const MODELS: Record<TargetName, string> = {
  "openai-chat": "gpt-5.1",
  "openai-responses": "gpt-5.1",
  "anthropic-messages": "claude-sonnet-4-5",
  "gemini-generate": "gemini-3-pro",
};

const PROVIDERS = Object.fromEntries(
  TARGETS.map((target) => [target, buildProvider(configOf(KINDS[target]))]),
) as Record<TargetName, Provider>;

/** Headers that every request to a vendor has, whatever is in it. */
const USUAL = new Set(["content-type", "accept-encoding", "user-agent"]);

/** The cases in `cases`, by file name. */
export function goldenCases(): GoldenCase[] {
  const folder = new URL("cases/", import.meta.url);
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const read = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Omit<GoldenCase, "name">;
      return { ...read, name: file.replace(/\.json$/, "") };
    });
}

/** The case's call, decoded at the gateway's front door. */
export function callOf({ path, headers, body }: Pick<GoldenCase, "path" | "headers" | "body">): {
  client: Protocol;
  call: Call;
} {
  const [bare = "", query = ""] = path.split("?");
  const found = addressed(bare, query);
  if (!found) throw new Error(`nobody answers ${path}`);
  const sent: Record<string, string> = { "content-type": "application/json", ...headers };
  const raw = Buffer.from(JSON.stringify(body));
  return {
    client: found.protocol,
    call: found.protocol.decodeRequest({ raw, header: (name) => sent[name], path: found.path }),
  };
}

/** The usual deployment of a target: what it speaks, and whom it is for. */
export function targetOf(name: TargetName): { protocol: Protocol; target: Target } {
  const provider = PROVIDERS[name];
  const protocol = provider.protocols.find((each) => each.name === name);
  if (!protocol) throw new Error(`its provider does not speak ${name}`);
  return { protocol, target: { model: MODELS[name], quirks: provider.quirks, maxOutputTokens: null } };
}

/** What of a case reaches a target. */
export function outcomeOf(golden: Omit<GoldenCase, "name" | "about">, name: TargetName): Outcome {
  const { client, call } = callOf(golden);
  const provider = PROVIDERS[name];
  const protocol = provider.protocols.find((each) => each.name === name);
  const crossing = protocol === client ? null : openCrossing(client, call);
  if (!protocol || (!crossing && protocol !== client)) throw new Error(`${client.name} does not go to ${name}`);
  const model = golden.models?.[name] ?? MODELS[name];
  const target = { model, quirks: provider.quirks, maxOutputTokens: null };
  const refused = crossing?.inexpressible(protocol, target) ?? [];
  if (refused.length > 0) return { refused };
  const { request, dropped } = provider.request({
    call,
    protocol,
    crossing,
    pool: name,
    header: () => undefined,
    deployment: deploymentOf(model),
  });
  return {
    path: request.path,
    headers: headersOf(request.headers),
    dropped: [...dropped],
    body: request.body && (JSON.parse(inOnePiece(request.body).toString()) as unknown),
  };
}

function headersOf(flat: readonly string[]): Record<string, string> {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i] ?? "", flat[i + 1] ?? ""]);
  return Object.fromEntries(pairs.filter(([name]) => !USUAL.has(name)));
}

function deploymentOf(model: string): Parameters<Provider["request"]>[0]["deployment"] {
  return aDeployment("golden", { provider: "golden", model });
}

function configOf(kind: ProviderKind): ProviderConfig {
  return {
    name: kind,
    kind,
    preset: null,
    baseUrl: null,
    apiKey: new Secret("key", "golden"),
    auth: null,
    headers: {},
    forwardHeaders: [],
    connections: 1,
    tls: null,
    proxy: null,
  };
}
