import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { BOUNDS } from "./bounds.ts";
import type { Environment } from "./env.ts";
import { didYouMean } from "./nearest.ts";
import type { Path, Problems } from "./problems.ts";
import type { SecretLookup } from "./secret-lookup.ts";
import { type ConfigNode, type MapNode, type ScalarNode, scalarsOf } from "./yaml/node.ts";

/** Where references are looked up. */
export interface ReferenceSources {
  environment: Environment;
  /** Folder that `file:` paths start from. */
  baseDir: string;
  /** Asked for `vault:`, `aws-sm:` and `gcp-sm:`; null where none can be. */
  secrets: SecretLookup | null;
}

/** A reference that leads nowhere. */
export interface Unresolved {
  node: ScalarNode;
  path: Path;
}

/** What `resolveReferences` found out: what leads nowhere, the files that were read, the managers' documents. */
export interface ResolvedReferences {
  unresolved: Unresolved[];
  files: string[];
  /** By the reference that leads to each, as `origin` has it. */
  documents: Map<string, string>;
}

type Lookup = { value: string; origin: string | null } | { missing: string; origin: string } | { refused: string };

/** What is found on the way. */
type Seen = Pick<ResolvedReferences, "files" | "documents">;

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Puts the values of `env:`, `file:` and `${NAME}` into the tree, in place; `$${` stands for `${`.
 * What a reference gives is never read as a reference again. What cannot be a reference at all is a problem here;
 * what does not resolve is marked, because whether it matters depends on whether it is used.
 */
export async function resolveReferences(
  tree: MapNode,
  sources: ReferenceSources,
  problems: Problems,
): Promise<ResolvedReferences> {
  const unresolved: Unresolved[] = [];
  const seen: Seen = { files: [], documents: new Map() };
  const texts = allScalars(tree).filter(({ node }) => typeof node.value === "string");
  // Managers are far away: all of them are asked at once.
  const lookups = texts.map(({ node }) => lookUp(String(node.value), sources, seen));
  for (const [i, { node, path }] of texts.entries()) {
    const found = await lookups[i];
    if (!found) continue;
    if ("refused" in found) {
      problems.error(node.at, path, found.refused);
      node.missing = "refused";
      continue;
    }
    node.origin = found.origin;
    if ("value" in found) node.value = found.value;
    else {
      node.missing = found.missing;
      unresolved.push({ node, path });
    }
  }
  return { unresolved, ...seen };
}

/** A list first: resolving changes the nodes. An aliased value stands in the tree more than once, each its own node. */
function allScalars(tree: ConfigNode): { node: ScalarNode; path: Path }[] {
  return [...scalarsOf(tree)];
}

async function lookUp(text: string, sources: ReferenceSources, seen: Seen): Promise<Lookup | null> {
  const [, scheme, rest] = /^(env|file|vault|aws-sm|gcp-sm):([\s\S]*)$/.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) return interpolate(text, sources.environment);
  if (scheme === "env") return lookUpVariable(rest, sources.environment);
  if (scheme === "file") return lookUpFile(rest, sources, seen.files);
  return lookUpManaged(scheme, rest, sources, seen);
}

async function lookUpManaged(scheme: string, rest: string, sources: ReferenceSources, seen: Seen): Promise<Lookup> {
  const named = interpolate(rest, sources.environment);
  if (named && !("value" in named)) return named;
  const origin = `${scheme}:${rest}`;
  const found = await sources.secrets?.lookUp(scheme, named?.value ?? rest);
  if (!found) return { missing: "no secret manager is asked here", origin };
  if ("refused" in found) return found;
  seen.documents.set(origin, found.document);
  return "value" in found ? { value: found.value, origin } : { missing: found.missing, origin };
}

function lookUpVariable(name: string, environment: Environment): Lookup {
  if (!VARIABLE.test(name)) return { refused: `\`env:${name}\` names no variable; write env:NAME` };
  const value = environment.get(name);
  const origin = `env:${name}`;
  if (value === undefined) return { missing: `\`${name}\` is not set${didYouMean(name, environment.names())}`, origin };
  return value === "" ? { missing: `\`${name}\` is set but empty`, origin } : { value, origin };
}

async function lookUpFile(written: string, sources: ReferenceSources, files: string[]): Promise<Lookup> {
  const named = interpolate(written, sources.environment);
  if (named && !("value" in named)) return named;
  const origin = `file:${written}`;
  const name = named?.value ?? written;
  if (name === "" || name.includes("\0")) return { refused: "`file:` wants the path of a file" };
  const path = resolve(sources.baseDir, name);
  files.push(path);
  try {
    const facts = await stat(path);
    if (!facts.isFile()) return { missing: `${path} is not a file`, origin };
    if (facts.size > BOUNDS.referenceBytesMax) {
      return { missing: `${path} is larger than ${BOUNDS.referenceBytesMax} bytes`, origin };
    }
    const value = (await readFile(path, "utf8")).replace(/^\uFEFF/, "").replace(/[\r\n]+$/, "");
    return value === "" ? { missing: `${path} is empty`, origin } : { value, origin };
  } catch (thrown) {
    return { missing: `${path} cannot be read (${(thrown as NodeJS.ErrnoException).code ?? "unknown"})`, origin };
  }
}

/** `${NAME}` inside a text; null when there is none. */
function interpolate(text: string, environment: Environment): Lookup | null {
  if (!text.includes("${")) return null;
  const names: string[] = [];
  const faults: Lookup[] = [];
  const value = text.replace(/\$?\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) => {
    if (whole.startsWith("$${")) return whole.slice(1);
    if (end === "" || !VARIABLE.test(name)) {
      faults.push({ refused: `\`${whole}\` is not a reference: write \${NAME}, or $\${ for a plain \${` });
      return "";
    }
    names.push(`env:${name}`);
    const found = lookUpVariable(name, environment);
    if ("value" in found) return found.value;
    faults.push(found);
    return "";
  });
  return (
    faults.find((fault) => "refused" in fault) ??
    faults[0] ?? { value, origin: names.length > 0 ? names.join(" ") : null }
  );
}
