import { createHash } from "node:crypto";
import { ownText } from "../../core/own-text.ts";
import type { Environment } from "../env.ts";
import { didYouMean } from "../nearest.ts";
import { formatPath, NOWHERE, type Path, type Problems } from "../problems.ts";
import type { AdminInput, KeyInput } from "../schema/access.ts";
import type { AdminKey, KeyEntry, Tenant } from "../snapshot.ts";
import { nodeAt } from "../yaml/node.ts";
import { type Entry, errorIn, warnIn } from "./entry.ts";
import { DEFAULT_TENANT_NAME } from "./known.ts";
import type { ModelNames } from "./model-names.ts";
import { policyOf } from "./tenants.ts";

/** Characters below which a key can be guessed. */
const KEY_CHARS_MIN = 16;

/** What keys refer to. `known` has the tenants that are broken or left out, too. */
export interface KeyContext {
  tenants: ReadonlyMap<string, Tenant>;
  known: ReadonlySet<string>;
  /** The config declares tenants, so a key must name one. */
  declared: boolean;
  names: ModelNames;
  nowMs: number;
  /** Hashes and ids met so far, with the path of the first. */
  seen: Map<string, string>;
}

/** Lower-case hex SHA-256 of a whole key: all that the gateway keeps of it. */
function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** A client key ready for use; null when a fault was told or its tenant was left out. */
export function buildKey(
  entry: Entry<KeyInput>,
  input: KeyInput,
  context: KeyContext,
  problems: Problems,
): KeyEntry | null {
  const hash = hashOf(entry, [], input, context, problems);
  if (!/^[A-Za-z0-9-]+$/.test(input.id) || input.id.length > 64) {
    errorIn(entry, ["id"], `\`${input.id}\` cannot be a key's id: at most 64 letters, digits and \`-\``, problems);
  }
  checkOnce(entry, ["id"], `id ${input.id}`, `the id \`${input.id}\``, context, problems);
  const tenant = tenantOf(entry, input, context, problems);
  if (input.expires !== undefined && input.expires <= context.nowMs) {
    warnIn(entry, ["expires"], "this key has expired and is refused", problems);
  }
  const models = policyOf(entry, input.models, tenant?.models?.allow ?? [], context.names, problems);
  if (!tenant || hash === null) return null;
  for (const [part, known] of [
    ["team", tenant.teams],
    ["application", tenant.applications],
  ] as const) {
    const name = input[part];
    if (name === undefined || known.includes(name)) continue;
    errorIn(entry, [part], `tenant \`${tenant.name}\` has no ${part} \`${name}\`${didYouMean(name, known)}`, problems);
  }
  return {
    id: input.id,
    hash,
    tenant: tenant.name,
    team: input.team ?? null,
    application: input.application ?? null,
    name: input.name ?? null,
    models,
    expiresAt: input.expires ?? null,
    source: "config",
  };
}

/** The admin keys of the config. */
export function buildAdminKeys(
  entry: Entry<AdminInput>,
  input: AdminInput,
  context: KeyContext,
  problems: Problems,
): AdminKey[] {
  const keys: AdminKey[] = [];
  for (const [i, key] of input.keys.entries()) {
    const below = ["keys", i];
    const hash = hashOf(entry, below, key, context, problems);
    if (key.tenant !== undefined && !context.known.has(key.tenant)) {
      const hint = didYouMean(key.tenant, context.known);
      errorIn(entry, [...below, "tenant"], `unknown tenant \`${key.tenant}\`${hint}`, problems);
    }
    if (hash !== null) keys.push({ hash, role: key.role, tenant: key.tenant ?? null });
  }
  return keys;
}

function tenantOf(entry: Entry<KeyInput>, input: KeyInput, context: KeyContext, problems: Problems): Tenant | null {
  if (input.tenant === undefined && context.declared) {
    errorIn(entry, [], "`tenant` is missing: this config declares tenants", problems);
    return null;
  }
  const name = input.tenant ?? DEFAULT_TENANT_NAME;
  const tenant = context.tenants.get(name);
  if (tenant) return tenant;
  if (context.known.has(name)) {
    if (!problems.hasErrors()) warnIn(entry, [], `left out, because its tenant \`${name}\` was left out`, problems);
  } else {
    errorIn(entry, ["tenant"], `unknown tenant \`${name}\`${didYouMean(name, context.known)}`, problems);
  }
  return null;
}

function hashOf(
  entry: Entry<unknown>,
  below: Path,
  input: { hash?: string | undefined; key?: string | undefined },
  context: KeyContext,
  problems: Problems,
): string | null {
  if ((input.hash === undefined) === (input.key === undefined)) {
    const which =
      input.hash === undefined ? "`hash` or `key` is missing" : "`hash` and `key` both stand here; one is enough";
    errorIn(entry, below, which, problems);
    return null;
  }
  const hash = input.key === undefined ? readHash(input.hash ?? "") : hashKey(input.key);
  const part = input.key === undefined ? "hash" : "key";
  if (hash === null) {
    errorIn(entry, [...below, part], "`hash` is not `sha256:` and 64 hex digits", problems);
    return null;
  }
  if (input.key !== undefined) checkKeyText(entry, [...below, "key"], input.key, problems);
  checkOnce(entry, [...below, part], `hash ${hash}`, "the same key", context, problems);
  return hash;
}

function readHash(written: string): string | null {
  const match = /^sha256:([0-9a-f]{64})$/i.exec(written);
  const digits = match?.[1]?.toLowerCase();
  return digits === undefined ? null : ownText(digits);
}

function checkKeyText(entry: Entry<unknown>, below: Path, key: string, problems: Problems): void {
  const node = nodeAt(entry.node, below);
  if (node?.kind === "scalar" && node.origin === null) {
    warnIn(entry, below, "`key` is a literal secret; write its hash, or env:NAME or file:PATH instead", problems);
  }
  if (key.length < KEY_CHARS_MIN) {
    warnIn(entry, below, `this key is shorter than ${KEY_CHARS_MIN} characters and can be guessed`, problems);
  }
}

function checkOnce(
  entry: Entry<unknown>,
  below: Path,
  mark: string,
  words: string,
  context: KeyContext,
  problems: Problems,
): void {
  const first = context.seen.get(mark);
  const here = formatPath([...entry.path, ...below.slice(0, -1)]);
  if (first !== undefined) errorIn(entry, below, `${words} stands in \`${first}\` already`, problems);
  else context.seen.set(mark, here);
}

/** The admin key of SLUICEGATE_ADMIN_KEY, or null when it is not set. */
export function masterKey(environment: Environment, problems: Problems): AdminKey | null {
  const key = environment.get("SLUICEGATE_ADMIN_KEY");
  if (!key) return null;
  if (key.length < KEY_CHARS_MIN) {
    const message = `this key is shorter than ${KEY_CHARS_MIN} characters and can be guessed`;
    problems.warn(NOWHERE, "SLUICEGATE_ADMIN_KEY", message);
  }
  return { hash: hashKey(key), role: "admin", tenant: null };
}
