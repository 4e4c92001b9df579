import { createHash } from "node:crypto";
import type { Environment } from "../env.ts";
import { NOWHERE, type Problems } from "../problems.ts";
import { adminSchema } from "../schema/access.ts";
import { gatewaySchema, ledgerSchema } from "../schema/gateway.ts";
import type { GatewayConfig, ProviderConfig, Snapshot, Tenant } from "../snapshot.ts";
import { canonicalText, keyPlaceAt, type MapNode } from "../yaml/node.ts";
import { httpUrl, isLoopback } from "./base-url.ts";
import { warnOverCommitted } from "./capacity.ts";
import { buildCatalogue, type Catalogue } from "./catalogue.ts";
import { defaultBreaker, defaultTimeouts, type PriceContext } from "./deployments.ts";
import { warnRoutes } from "./doubts.ts";
import { type Entry, errorIn } from "./entry.ts";
import { buildGateway, buildLedger, checkBind, type ListenOverrides } from "./gateway.ts";
import { alertTargets, flagsOf, stateOf } from "./installation.ts";
import { buildAdminKeys, buildKey, type KeyContext, masterKey } from "./keys.ts";
import { type Known, knownNames } from "./known.ts";
import { readPermission } from "./model-names.ts";
import type { World } from "./placement.ts";
import { checkResidency, classesOf, regionGroups, regionsInUse } from "./places.ts";
import { buildProvider } from "./providers.ts";
import { checkReach } from "./reach.ts";
import type { Sections } from "./read-sections.ts";
import { rawRoute } from "./routes.ts";
import { checkServed, warnOutside } from "./served.ts";
import { tenantCredentials } from "./tenant-credentials.ts";
import { buildTenant, DEFAULT_TENANT } from "./tenants.ts";

/** What building a snapshot takes besides the config itself. */
export interface BuildContext extends PriceContext {
  environment: Environment;
  /** Folder that relative paths start from. */
  baseDir: string;
  overrides: ListenOverrides;
}

/** Everything looked up and checked. A snapshot comes back even when errors were told; it is then not to be used. */
export function buildSnapshot(sections: Sections, context: BuildContext, problems: Problems): Snapshot {
  const gatewayInput = sections.gateway.value ?? gatewaySchema.parse({});
  const gateway = buildGateway(sections.gateway, gatewayInput, context.overrides, problems);
  const ledgerInput = sections.ledger.value ?? ledgerSchema.parse({});
  const ledger = buildLedger(sections.ledger, ledgerInput, context.baseDir, problems);
  const providers = buildProviders(sections, context.environment, problems);
  const known = knownNames(sections);
  const catalogue = buildCatalogue(sections, providers, known, context, problems);
  checkPresence(sections, catalogue, problems);
  const tenants = buildTenants(sections, catalogue, known, context.environment, problems);
  const world = { ...placesOf(sections, gateway, catalogue, tenants, problems), gateway, tenants };
  checkWhole(sections, { ...world, providers }, catalogue, problems);
  const access = buildAccess(sections, tenants, catalogue, context, problems);
  checkBind(sections.gateway, gateway, sections.keys.length > 0 || (sections.tenants?.size ?? 0) > 0, problems);
  if (gateway.portFixed) checkSelfCall(sections, providers, gateway.listen.port, problems);
  return {
    revision: createHash("sha256").update(canonicalText(sections.root)).digest("hex").slice(0, 12),
    loadedAt: context.nowMs,
    ledger,
    providers,
    ...world,
    taskClasses: sections.taskClasses && classesOf(sections.taskClasses, problems),
    alerts: alertTargets(sections.alerts, problems),
    flags: flagsOf(sections.flags),
    state: stateOf(sections.state, problems),
    ...access,
    models: context.models,
    rawRoute: rawRoute(),
    rawDeployment: {
      region: null,
      capacity: "payg",
      timeouts: defaultTimeouts(),
      api: null,
      maxOutputTokens: null,
      breaker: defaultBreaker(),
    },
    warnings: [],
  };
}

/** What says where requests may go. */
function placesOf(
  sections: Sections,
  { region }: GatewayConfig,
  { deployments, routes, rules }: Catalogue,
  tenants: ReadonlyMap<string, Tenant>,
  problems: Problems,
): Pick<World, "classifications" | "regions" | "deployments" | "routes" | "rules"> {
  const inUse = regionsInUse(region, deployments.values());
  const regions = regionGroups(sections, inUse, problems);
  for (const { name, defaults } of tenants.values()) {
    const entry = sections.tenants?.get(name);
    if (entry && defaults.residency !== null) checkResidency(entry, defaults.residency, regions, inUse, problems);
  }
  const classifications = classesOf(sections.classifications, problems);
  return { classifications, regions, deployments, routes, rules: rules.map(({ rule }) => rule) };
}

/** What only the whole shows. Parts that could not be read would raise false alarms. */
function checkWhole(
  sections: Sections,
  world: World & Pick<Snapshot, "providers">,
  { rules }: Catalogue,
  problems: Problems,
): void {
  if (problems.hasErrors()) return;
  const { providers, deployments, routes } = sections;
  const entries: Entry<unknown>[] = [
    ...providers.values(),
    ...deployments.values(),
    ...routes.values(),
    ...sections.rules,
  ];
  const incomplete = entries.some(({ state }) => state === "dropped");
  checkServed(sections, world, incomplete, problems);
  checkReach(rules, world, incomplete, problems);
  warnOutside(sections, world, problems);
  warnOverCommitted(sections, world.providers, world.deployments, problems);
  warnRoutes(sections, world, problems);
}

function buildProviders(sections: Sections, environment: Environment, problems: Problems): Map<string, ProviderConfig> {
  const proxy = environment.get("HTTPS_PROXY") || environment.get("https_proxy");
  if (proxy && "fault" in httpUrl(proxy)) {
    problems.warn(NOWHERE, "HTTPS_PROXY", "HTTPS_PROXY is not an http or https URL, so no proxy is used");
  }
  const providers = new Map<string, ProviderConfig>();
  for (const entry of sections.providers.values()) {
    if (entry.value) providers.set(entry.name, buildProvider(entry, entry.value, environment, problems));
  }
  return providers;
}

function buildTenants(
  sections: Sections,
  { names }: Catalogue,
  known: Known,
  environment: Environment,
  problems: Problems,
): Map<string, Tenant> {
  if (!sections.tenants) return new Map([[DEFAULT_TENANT.name, structuredClone(DEFAULT_TENANT)]]);
  const tenants = new Map<string, Tenant>();
  for (const entry of sections.tenants.values()) {
    if (!entry.value) continue;
    const tenant = buildTenant(entry, entry.value, names, known, problems);
    const credentials = tenantCredentials(entry, entry.value, sections, environment, problems);
    tenants.set(entry.name, credentials.size === 0 ? tenant : { ...tenant, credentials });
  }
  return tenants;
}

function buildAccess(
  sections: Sections,
  tenants: ReadonlyMap<string, Tenant>,
  catalogue: Catalogue,
  context: BuildContext,
  problems: Problems,
): Pick<Snapshot, "keys" | "adminKeys"> {
  const keyContext: KeyContext = {
    tenants,
    known: new Set(sections.tenants?.keys() ?? [DEFAULT_TENANT.name]),
    declared: sections.tenants !== null,
    names: catalogue.names,
    nowMs: context.nowMs,
    seen: new Map(),
  };
  const keys = sections.keys.flatMap((entry) => {
    const key = entry.value && buildKey(entry, entry.value, keyContext, problems);
    return key ? [key] : [];
  });
  const adminInput = sections.admin.value ?? adminSchema.parse({});
  const adminKeys = buildAdminKeys(sections.admin, adminInput, keyContext, problems);
  const master = masterKey(context.environment, problems);
  return { keys, adminKeys: master ? [master, ...adminKeys] : adminKeys };
}

/** A config in which nothing can be asked for, or nothing answers, is a config half written. */
function checkPresence(sections: Sections, { names }: Catalogue, problems: Problems): void {
  const { root } = sections;
  if (root.entries.has("tenants") && isBare(root, "tenants")) {
    problems.error(
      keyPlaceAt(root, [], "tenants"),
      ["tenants"],
      "`tenants` is empty: nobody could be served; remove it or name one",
    );
  }
  if (isBare(root, "providers")) {
    const message =
      "`providers` is missing or empty: name at least one, as in `providers: { sim: { kind: simulator } }`";
    problems.error(keyPlaceAt(root, [], "providers"), ["providers"], message);
  }
  const policies = [...(sections.tenants?.values() ?? []), ...sections.keys].map((entry) => entry.value?.models?.allow);
  const mayAskRaw = policies.flat().some((name) => {
    const read = readPermission(name ?? "", names);
    return "kind" in read && (read.kind === "raw" || read.kind === "deployment");
  });
  if (isBare(root, "routes") && !mayAskRaw) {
    const message =
      "`routes` is missing or empty, so there is nothing to ask for: `routes: { default: { chain: [provider/model] } }`";
    problems.error(keyPlaceAt(root, [], "routes"), ["routes"], message);
  }
}

/** Absent or an empty map; what is neither has been told of already. */
function isBare(root: MapNode, section: string): boolean {
  const node = root.entries.get(section)?.node;
  return node === undefined || (node.kind === "map" && node.entries.size === 0);
}

/** A provider that is this gateway would call itself until every connection is used up. */
function checkSelfCall(
  sections: Sections,
  providers: ReadonlyMap<string, ProviderConfig>,
  port: number,
  problems: Problems,
): void {
  for (const entry of sections.providers.values()) {
    const url = providers.get(entry.name)?.baseUrl;
    if (!url) continue;
    const { hostname, port: urlPort } = new URL(url);
    if (isLoopback(hostname) && urlPort === String(port)) {
      errorIn(entry, ["base_url"], `\`base_url\` leads back to this gateway, which listens on port ${port}`, problems);
    }
  }
}
