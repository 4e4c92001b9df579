import type { Environment } from "../env.ts";
import { CREDENTIAL_KEYS, type CredentialKey, KIND_NAMES, KINDS } from "../kinds.ts";
import { didYouMean } from "../nearest.ts";
import { newProblems, type Problems } from "../problems.ts";
import type { TenantInput } from "../schema/access.ts";
import { type ProviderInput, providerSchema } from "../schema/providers.ts";
import type { ProviderConfig } from "../snapshot.ts";
import { type ConfigNode, type MapEntry, type MapNode, nodeAt, scalarNode, toValue } from "../yaml/node.ts";
import { type Entry, errorAtKey, errorIn, warnIn } from "./entry.ts";
import { buildProvider } from "./providers.ts";
import type { Sections } from "./read-sections.ts";

/** Headers that say whose account is called: a tenant's own credentials do not go with the shared account's. */
const ACCOUNT_HEADER = /auth|key|token|secret|cookie|organi[sz]ation|project|account/i;
/** A service account's file says where its tokens come from; a tenant has no say in which addresses are called. */
const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token";

/** The providers that a tenant calls with credentials of its own: as they are declared, but for who calls. */
export function tenantCredentials(
  entry: Entry<TenantInput>,
  input: TenantInput,
  sections: Sections,
  environment: Environment,
  problems: Problems,
): Map<string, ProviderConfig> {
  const found = new Map<string, ProviderConfig>();
  for (const name of Object.keys(input.credentials)) {
    const shared = sections.providers.get(name);
    const written = nodeAt(entry.node, ["credentials", name]);
    if (!shared) {
      const message = `\`${name}\` is no provider${didYouMean(name, [...sections.providers.keys()])}`;
      errorAtKey(entry, ["credentials"], name, message, problems);
    } else if (shared.state === "dropped") {
      warnIn(entry, ["credentials", name], `provider \`${name}\` was left out, and so is this`, problems);
    } else if (shared.node.kind === "map" && written) {
      const own = ownProvider(entry, name, shared.node, written, problems);
      const config = own && built(own, environment, problems);
      if (config) found.set(name, config);
    }
  }
  return found;
}

/** The provider's entry with the tenant's credentials in the place of the shared ones. */
function ownProvider(
  entry: Entry<TenantInput>,
  name: string,
  shared: MapNode,
  written: ConfigNode,
  problems: Problems,
): Entry<ProviderInput> | null {
  if (nodeAt(written, ["entra", "authority"])) {
    const message = "`authority` is an address, and a tenant brings credentials only: set it at the provider";
    errorIn(entry, ["credentials", name, "entra", "authority"], message, problems);
    return null;
  }
  if (written.kind === "map" && written.entries.size === 0) {
    errorIn(entry, ["credentials", name], "it names no credential, so the gateway's own would be used", problems);
    return null;
  }
  const entries = new Map<string, MapEntry>();
  for (const [key, value] of shared.entries) {
    if (!(CREDENTIAL_KEYS as readonly string[]).includes(key)) entries.set(key, value);
  }
  const keyAt = written.at;
  if (written.kind === "map") for (const [key, value] of written.entries) entries.set(key, value);
  else entries.set(loneKey(shared), { keyAt, node: written });
  if (!entries.has("api_key")) entries.delete("auth");
  if (entries.has("credentials") && !entries.has("token_url")) {
    entries.set("token_url", { keyAt, node: scalarNode(GOOGLE_TOKEN_URL, keyAt) });
  }
  withoutAccountHeaders(entries);
  const node: MapNode = { kind: "map", at: written.at, entries };
  const read = providerSchema.safeParse(toValue(node));
  // What is wrong with the shared part has been told at the provider.
  if (!read.success) return null;
  return { name, path: [...entry.path, "credentials", name], keyAt, node, state: "ok", value: read.data };
}

/** What a lone text is: the kind's usual credential. */
function loneKey(shared: MapNode): CredentialKey {
  const kind = nodeAt(shared, ["kind"]);
  const named = kind?.kind === "scalar" ? KIND_NAMES.find((name) => name === kind.value) : undefined;
  return (named && KINDS[named].credential) ?? "api_key";
}

function withoutAccountHeaders(entries: Map<string, MapEntry>): void {
  const headers = entries.get("headers");
  if (headers?.node.kind !== "map") return;
  const kept = new Map([...headers.node.entries].filter(([name]) => !ACCOUNT_HEADER.test(name)));
  entries.set("headers", { ...headers, node: { ...headers.node, entries: kept } });
}

/** Built with the checks of any provider; what they say of the shared part has been said before. */
function built(own: Entry<ProviderInput>, environment: Environment, problems: Problems): ProviderConfig | null {
  if (!own.value) return null;
  const told = new Set(problems.all.map((problem) => placeAndWords(problem)));
  const heard = newProblems();
  const config = buildProvider(own, own.value, environment, heard);
  for (const problem of heard.all) if (!told.has(placeAndWords(problem))) problems.add(problem);
  return config;
}

function placeAndWords(problem: Problems["all"][number]): string {
  const { file, line, column, message } = problem;
  return JSON.stringify([file, line, column, message]);
}
