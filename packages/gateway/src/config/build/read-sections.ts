import type { z } from "zod";
import { BOUNDS } from "../bounds.ts";
import { reportIssues, reportUnknownKey } from "../issues.ts";
import type { Path, Place, Problems } from "../problems.ts";
import {
  type AdminInput,
  adminSchema,
  type KeyInput,
  keySchema,
  type TenantInput,
  tenantSchema,
} from "../schema/access.ts";
import { SECTIONS } from "../schema/config.ts";
import { type DeploymentInput, deploymentSchema } from "../schema/deployments.ts";
import { type GatewayInput, gatewaySchema, type LedgerInput, ledgerSchema } from "../schema/gateway.ts";
import {
  type AlertInput,
  alertSchema,
  classificationsSchema,
  type FlagsInput,
  flagsSchema,
  regionsSchema,
  stateSchema,
  taskClassesSchema,
} from "../schema/installation.ts";
import { knownKeys } from "../schema/known-keys.ts";
import { type ProviderInput, providerSchema } from "../schema/providers.ts";
import { type RouteInput, routeSchema } from "../schema/routes.ts";
import { type RuleInput, ruleSchema } from "../schema/rules.ts";
import { type ConfigNode, isNull, type MapNode, toValue } from "../yaml/node.ts";
import { type Entry, isIncomplete } from "./entry.ts";
import { salvage } from "./salvage.ts";

/** The config read object by object, shapes and units checked, nothing yet looked up. */
export interface Sections {
  root: MapNode;
  gateway: Entry<GatewayInput>;
  ledger: Entry<LedgerInput>;
  admin: Entry<AdminInput>;
  providers: Map<string, Entry<ProviderInput>>;
  deployments: Map<string, Entry<DeploymentInput>>;
  routes: Map<string, Entry<RouteInput>>;
  /** Null: the section is absent, and there is one tenant, `default`. */
  tenants: Map<string, Entry<TenantInput>> | null;
  keys: Entry<KeyInput>[];
  rules: Entry<RuleInput>[];
  alerts: Entry<AlertInput>[];
  /** Null: absent. */
  flags: Entry<FlagsInput> | null;
  state: Entry<string> | null;
  classifications: Entry<string[]> | null;
  regions: Entry<Record<string, string[]>> | null;
  taskClasses: Entry<string[]> | null;
}

/** Names that stand in scopes such as `tenant:acme/team:payments`, and before the `/` of `provider/model`. */
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** Aliases and deployments may look like models: `meta-llama/llama-3.3:70b`. */
const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;
/** What chains and permissions would read as something else. */
const RESERVED_NAME = /^(deployment|env|file|vault|aws-sm|gcp-sm):/;

/** Reads every section; an absent one is empty. */
export function readSections(root: MapNode, problems: Problems): Sections {
  for (const [key, { keyAt }] of root.entries) {
    if (!SECTIONS.includes(key)) reportUnknownKey(key, [], keyAt, SECTIONS, problems);
  }
  const named = <T extends z.ZodType>(section: string, schema: T, pattern: RegExp) =>
    readNamed(root, section, schema, pattern, problems);
  return {
    root,
    gateway: readSingle(root, "gateway", gatewaySchema, problems),
    ledger: readSingle(root, "ledger", ledgerSchema, problems),
    admin: readSingle(root, "admin", adminSchema, problems),
    providers: named("providers", providerSchema, PLAIN_NAME),
    deployments: named("deployments", deploymentSchema, MODEL_NAME),
    routes: named("routes", routeSchema, MODEL_NAME),
    tenants: root.entries.has("tenants") ? named("tenants", tenantSchema, PLAIN_NAME) : null,
    keys: readList(root, "keys", keySchema, problems),
    rules: readList(root, "rules", ruleSchema, problems, BOUNDS.rulesMax),
    alerts: readList(root, "alerts", alertSchema, problems, BOUNDS.alertTargetsMax),
    flags: readPresent(root, "flags", flagsSchema, problems),
    state: readPresent(root, "state", stateSchema, problems),
    classifications: readPresent(root, "classifications", classificationsSchema, problems),
    regions: readPresent(root, "regions", regionsSchema, problems),
    taskClasses: readPresent(root, "task_classes", taskClassesSchema, problems),
  };
}

/** One name of a kind that stands in scopes: tenants, teams, applications. */
export function checkPlainName(name: string, keyAt: Place, path: Path, problems: Problems): void {
  checkName(name, PLAIN_NAME, keyAt, path, problems);
}

function readSingle<T extends z.ZodType>(
  root: MapNode,
  section: string,
  schema: T,
  problems: Problems,
): Entry<z.output<T>> {
  const entry = root.entries.get(section);
  const node: ConfigNode = entry?.node ?? { kind: "map", at: root.at, entries: new Map() };
  return readEntry(section, [section], entry?.keyAt ?? root.at, node, schema, problems);
}

function readPresent<T extends z.ZodType>(
  root: MapNode,
  section: string,
  schema: T,
  problems: Problems,
): Entry<z.output<T>> | null {
  const entry = root.entries.get(section);
  return entry ? readEntry(section, [section], entry.keyAt, entry.node, schema, problems) : null;
}

function readNamed<T extends z.ZodType>(
  root: MapNode,
  section: string,
  schema: T,
  pattern: RegExp,
  problems: Problems,
): Map<string, Entry<z.output<T>>> {
  const found = new Map<string, Entry<z.output<T>>>();
  const node = root.entries.get(section)?.node;
  if (node === undefined || isNull(node)) return found;
  if (node.kind !== "map") {
    problems.error(node.at, [section], `\`${section}\` is not a map of names`);
    return found;
  }
  for (const [name, { keyAt, node: value }] of node.entries) {
    const path = [section, name];
    checkName(name, pattern, keyAt, path, problems);
    found.set(name, readEntry(name, path, keyAt, value, schema, problems));
  }
  return found;
}

function readList<T extends z.ZodType>(
  root: MapNode,
  section: string,
  schema: T,
  problems: Problems,
  itemsMax = Number.POSITIVE_INFINITY,
): Entry<z.output<T>>[] {
  const node = root.entries.get(section)?.node;
  if (node === undefined || isNull(node)) return [];
  if (node.kind === "list" && node.items.length > itemsMax) {
    problems.error(node.at, [section], `\`${section}\` has more than ${itemsMax} entries`);
    return [];
  }
  if (node.kind === "list") {
    return node.items.map((item, i) => readEntry(String(i), [section, i], item.at, item, schema, problems));
  }
  problems.error(node.at, [section], `\`${section}\` is not a list`);
  return [];
}

function readEntry<T extends z.ZodType>(
  name: string,
  path: Path,
  keyAt: Place,
  node: ConfigNode,
  schema: T,
  problems: Problems,
): Entry<z.output<T>> {
  const result = schema.safeParse(toValue(node));
  if (result.success && !isIncomplete(node)) return { name, path, keyAt, node, state: "ok", value: result.data };
  if (result.success) return { name, path, keyAt, node, state: "broken", value: null };
  reportIssues(result.error.issues, { node, path, keyAt }, knownKeys, problems);
  const rest = isIncomplete(node) ? null : salvage(toValue(node), result.error.issues);
  const second = rest === null ? null : schema.safeParse(rest);
  return { name, path, keyAt, node, state: "broken", value: second?.success ? second.data : null };
}

function checkName(name: string, pattern: RegExp, keyAt: Place, path: Path, problems: Problems): void {
  if (name.length > BOUNDS.nameCharsMax) {
    problems.error(keyAt, path, `this name is longer than ${BOUNDS.nameCharsMax} characters`);
  } else if (!pattern.test(name) || RESERVED_NAME.test(name)) {
    const allowed = pattern === PLAIN_NAME ? "letters, digits and . _ -" : "letters, digits and . _ - : / @ +";
    problems.error(keyAt, path, `\`${name}\` cannot be a name: use ${allowed}, a letter or digit first`);
  }
}
