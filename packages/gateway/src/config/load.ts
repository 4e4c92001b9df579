import { createHash } from "node:crypto";
import { dirname, resolve } from "node:path";
import type { Clock } from "../core/clock.ts";
import { type BuildContext, buildSnapshot } from "./build/build-snapshot.ts";
import type { ListenOverrides } from "./build/gateway.ts";
import { readSections } from "./build/read-sections.ts";
import { settleNamed, settleSingles } from "./build/settle-references.ts";
import { type ModelCatalogue, modelCatalogue, SHIPPED } from "./catalogue/model-catalogue.ts";
import { readCatalogue } from "./catalogue/stored-catalogue.ts";
import { deepFreeze } from "./deep-freeze.ts";
import type { Environment } from "./env.ts";
import { readSource, sourceFiles } from "./find-source.ts";
import type { ConfigTexts } from "./last-good.ts";
import { secretMask } from "./mask.ts";
import type { BookPrice } from "./price.ts";
import { NOWHERE, newProblems, type Problems, sortProblems } from "./problems.ts";
import { resolveReferences } from "./references.ts";
import type { SecretLookup } from "./secret-lookup.ts";
import type { ConfigProblem, Snapshot } from "./snapshot.ts";
import { type ConfigNode, fromValue, type MapNode, scalarNode, toValue } from "./yaml/node.ts";
import { overlaid, refuseNulls } from "./yaml/overlay.ts";
import { parseYaml } from "./yaml/parse.ts";
import { type Probe, zeroConfig } from "./zero-config.ts";

/** What loading a config takes. The environment's SLUICEGATE_* variables stand in for what is not given. */
export interface LoadOptions {
  /** Config file; else SLUICEGATE_CONFIG, else sluicegate.yaml in the working directory, else zero config. */
  file?: string | undefined;
  /** Overlay `sluicegate.<envName>.yaml`; else SLUICEGATE_ENV. */
  envName?: string | undefined;
  environment: Environment;
  /** Where a last good config may be that stands in for files that cannot be read; null: none does. */
  dataDir: string | null;
  bookPrice: BookPrice;
  /** A catalogue of models that goes over the one that ships; absent, or no such file: none does. */
  catalogueFile?: string | undefined;
  /** Leave out what wants a secret that is not there, instead of refusing. */
  allowMissingSecrets?: boolean | undefined;
  clock: Clock;
  /** Asked for what is in secret managers; absent: such references lead nowhere. */
  secrets?: SecretLookup | undefined;
  /** Texts that are loaded instead of what the files now hold. */
  texts?: ConfigTexts | undefined;
  /** Asks a local model server for its models; absent: none is asked. */
  probe?: Probe | undefined;
  overrides?: { port?: number | undefined; host?: string | undefined } | undefined;
}

/** A line of the config as it may be shown, secrets hidden, and where a column of it then is; null when there is none. */
export type SourceFrame = (file: string, line: number, column: number) => { text: string; column: number } | null;

/** A config that was loaded, or why it was not. */
export interface LoadedConfig {
  /** Null when there are errors. */
  snapshot: Snapshot | null;
  /** Errors and warnings, in the order of the files. */
  problems: ConfigProblem[];
  source: {
    /** Absolute path; null: zero config. */
    file: string | null;
    overlay: string | null;
    /** Every file whose change may change the config, references' too. */
    watched: string[];
    /** Documents of secret managers that it refers to, by reference. */
    documents: ReadonlyMap<string, string>;
    /** What was read, to be kept as last good; null: zero config, or nothing was. */
    texts: ConfigTexts | null;
    /** The files could not be read, and what is served is their last good text, kept then (ISO 8601). */
    keptAt: string | null;
  };
  /** Changes with the text and with what its references give. In memory only: it covers secrets. */
  fingerprint: string;
  frame: SourceFrame;
}

/** Loads, checks and freezes a config. Never throws for what is in it: problems come back, all at once. */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const problems = newProblems();
  for (const problem of options.environment.problems) problems.add(problem);
  const files = sourceFiles(options, problems);
  const texts =
    files && (options.texts ?? (await readSource(files, options.environment.cwd, options.dataDir, problems)));
  const overrides = listenOverrides(options, problems);
  const root = files ? parseTexts(texts, problems) : await zeroConfig({ ...options, port: overrides.port }, problems);
  const dotenv = files && options.environment.dotenv ? [options.environment.dotenv] : [];
  const watched = files ? [files.file, ...(files.overlay === null ? [] : [files.overlay]), ...dotenv] : [];
  const catalogue = await catalogueOf(options.catalogueFile, problems);
  let documents: ReadonlyMap<string, string> = new Map();
  let snapshot: Snapshot | null = null;
  if (root) {
    applyVariables(root, options.environment);
    const baseDir = files ? dirname(files.file) : options.environment.cwd;
    const { environment, secrets = null } = options;
    const found = await resolveReferences(root, { environment, baseDir, secrets }, problems);
    watched.push(...found.files);
    documents = found.documents;
    const allow = options.allowMissingSecrets === true;
    settleSingles(root, found.unresolved, allow, problems);
    const sections = readSections(root, problems);
    settleNamed(sections, found.unresolved, allow, problems);
    snapshot = buildSnapshot(sections, buildContext(options, baseDir, overrides, catalogue.models), problems);
  }
  const sorted = sortProblems(problems.all);
  const warnings = sorted.filter((problem) => problem.severity === "warning");
  const mask = secretMask(root);
  return {
    snapshot: snapshot && !problems.hasErrors() ? deepFreeze({ ...snapshot, warnings }) : null,
    problems: sorted,
    source: {
      file: files?.file ?? null,
      overlay: files?.overlay ?? null,
      watched,
      documents,
      texts,
      keptAt: texts?.savedAt ?? null,
    },
    fingerprint: root ? fingerprintOf(root, catalogue.text) : "",
    frame: frameIn(texts, mask),
  };
}

function parseTexts(texts: ConfigTexts | null, problems: Problems): MapNode | null {
  if (!texts) return null;
  const base = parseYaml(texts.base.text, texts.base.name);
  const overlay = texts.overlay && parseYaml(texts.overlay.text, texts.overlay.name);
  for (const problem of [...base.problems, ...(overlay?.problems ?? [])]) problems.add(problem);
  if (!base.tree || (overlay && !overlay.tree)) return null;
  const root = overlay?.tree ? overlaid(base.tree, overlay.tree, problems) : base.tree;
  refuseNulls(root, problems);
  return root;
}

function buildContext(
  options: LoadOptions,
  baseDir: string,
  overrides: ListenOverrides,
  models: ModelCatalogue,
): BuildContext {
  const { environment, bookPrice, clock } = options;
  return { environment, bookPrice, models, baseDir, overrides, nowMs: clock.now() };
}

/** What ships, and over it what the data dir holds. A broken file there is told of and passed over. */
async function catalogueOf(
  file: string | undefined,
  problems: Problems,
): Promise<{ models: ModelCatalogue; text: string }> {
  const stored = file === undefined ? null : await readCatalogue(file);
  if (!stored) return { models: modelCatalogue(SHIPPED), text: "" };
  if ("data" in stored) return { models: modelCatalogue(SHIPPED, stored.data), text: stored.text };
  const [first, ...others] = stored.faults;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  problems.warn({ ...NOWHERE, file: file ?? null }, "", `this model catalogue is not used: ${first}${more}`);
  return { models: modelCatalogue(SHIPPED), text: "" };
}

function listenOverrides({ overrides, environment }: LoadOptions, problems: Problems): ListenOverrides {
  const host = overrides?.host === undefined ? {} : { host: overrides.host };
  if (overrides?.port !== undefined) return { ...host, port: overrides.port };
  const written = environment.get("SLUICEGATE_PORT");
  if (!written) return host;
  if (/^\d{1,5}$/.test(written) && Number(written) <= 65_535) return { ...host, port: Number(written) };
  problems.error(NOWHERE, "SLUICEGATE_PORT", `\`${written}\` is not a port: a number from 0 to 65535`);
  return host;
}

/** Where a state given by a variable comes from: what is in it may be secret. */
const STATE_ORIGIN = "env:SLUICEGATE_STATE";

/** Variables that stand over single keys of the file. */
function applyVariables(root: MapNode, environment: Environment): void {
  const state = environment.get("SLUICEGATE_STATE");
  if (state)
    root.entries.set("state", { keyAt: NOWHERE, node: { ...scalarNode(state, NOWHERE), origin: STATE_ORIGIN } });
  const ledger = environment.get("SLUICEGATE_LEDGER");
  if (!ledger) return;
  const section = root.entries.get("ledger");
  // A path in a variable starts from where the process does, not from the config file.
  const path = /^sqlite:(?![:/])(.+)$/.exec(ledger)?.[1];
  const text = path === undefined ? ledger : `sqlite:${resolve(environment.cwd, path)}`;
  const url = { keyAt: NOWHERE, node: fromValue(text, NOWHERE) };
  if (section?.node.kind === "map") section.node.entries.set("url", url);
  else if (!section) {
    root.entries.set("ledger", {
      keyAt: NOWHERE,
      node: { kind: "map", at: NOWHERE, entries: new Map([["url", url]]) },
    });
  }
}

function fingerprintOf(root: ConfigNode, catalogue: string): string {
  return createHash("sha256")
    .update(JSON.stringify(toValue(root)))
    .update(catalogue)
    .digest("hex");
}

function frameIn(texts: ConfigTexts | null, mask: (line: string) => string): SourceFrame {
  const lines = new Map<string, string[]>();
  for (const text of [texts?.overlay, texts?.base]) if (text) lines.set(text.name, text.text.split(/\r\n|\n/));
  return (file, line, column) => {
    const found = lines.get(file)?.[line - 1];
    return found === undefined ? null : { text: mask(found), column: mask(found.slice(0, column - 1)).length + 1 };
  };
}
