import { existsSync, readdirSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { BOUNDS } from "./bounds.ts";
import type { Environment } from "./env.ts";
import { type ConfigText, type ConfigTexts, lastGoodPath, readLastGood } from "./last-good.ts";
import { didYouMean } from "./nearest.ts";
import { NOWHERE, type Problems } from "./problems.ts";

/** Where the config of a working directory is looked for when nothing names one. */
const DEFAULT_FILES = ["sluicegate.yaml", "sluicegate.yml"];

/** Files a config may come from. */
export interface SourceFiles {
  /** Absolute. */
  file: string;
  overlay: string | null;
}

/** Which files the config is in, whether they can be read or not; null without any: zero config. */
export function sourceFiles(
  options: { file?: string | undefined; envName?: string | undefined; environment: Environment },
  problems: Problems,
): SourceFiles | null {
  const { environment } = options;
  const named = options.file ?? (environment.get("SLUICEGATE_CONFIG") || undefined);
  const envName = options.envName ?? (environment.get("SLUICEGATE_ENV") || undefined);
  const found = named ?? DEFAULT_FILES.find((name) => existsSync(resolve(environment.cwd, name)));
  if (found === undefined) {
    if (envName !== undefined) {
      problems.warn(NOWHERE, "", `there is no config, so environment \`${envName}\` has no overlay to lay over it`);
    }
    return null;
  }
  const file = resolve(environment.cwd, found);
  return { file, overlay: envName === undefined ? null : overlayFile(file, envName, problems) };
}

/** Their texts; when they cannot be read, those last served from the same files, if `dataDir` has them. */
export async function readSource(
  files: SourceFiles,
  cwd: string,
  dataDir: string | null,
  problems: Problems,
): Promise<ConfigTexts | null> {
  const base = await readText(files.file, cwd);
  const overlay = files.overlay === null ? null : await readText(files.overlay, cwd);
  if ("text" in base && (overlay === null || "text" in overlay)) return { base, overlay, savedAt: null };
  const faults = [base, overlay].filter((read) => read !== null && "fault" in read);
  const kept = dataDir === null ? null : await readLastGood(dataDir);
  const isSame = kept?.base.path === files.file && (kept.overlay?.path ?? null) === files.overlay;
  for (const { name, fault } of faults) {
    if (dataDir !== null && kept && isSame) {
      const message = `${fault}: SERVING THE LAST GOOD CONFIG, kept at ${kept.savedAt}; remove ${lastGoodPath(dataDir)} to refuse instead`;
      problems.warn({ ...NOWHERE, file: name }, "", message);
    } else {
      const others = files.overlay === null || name === base.name ? "" : otherOverlays(files);
      problems.error({ ...NOWHERE, file: name }, "", `${fault}${others}`);
    }
  }
  return isSame ? kept : null;
}

async function readText(path: string, cwd: string): Promise<ConfigText | { name: string; fault: string }> {
  const within = relative(cwd, path);
  const name = within.startsWith("..") || within === "" ? path : within;
  try {
    const facts = await stat(path);
    if (facts.isDirectory()) return { name, fault: "is a folder, not a config file" };
    if (facts.size > BOUNDS.fileBytesMax) return { name, fault: `is larger than ${BOUNDS.fileBytesMax} bytes` };
    return { path, name, text: await readFile(path, "utf8") };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return { name, fault: code === "ENOENT" ? "there is no such file" : `cannot be read (${code ?? "unknown"})` };
  }
}

/** `sluicegate.yaml` and `prod` give `sluicegate.prod.yaml`. */
function overlayFile(file: string, envName: string, problems: Problems): string | null {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]*$/.test(envName)) {
    problems.error(NOWHERE, "", `\`${envName}\` cannot be an environment: use letters, digits, \`_\` and \`-\``);
    return null;
  }
  const extension = extname(file);
  return join(dirname(file), `${basename(file, extension)}.${envName}${extension}`);
}

/** Which environments do have an overlay, for the message about one that has none. */
function otherOverlays(files: SourceFiles): string {
  const extension = extname(files.file);
  const start = `${basename(files.file, extension)}.`;
  const nameOf = (file: string): string => file.slice(start.length, file.length - extension.length);
  const present = readdirSync(dirname(files.file))
    .filter(
      (file) => file.startsWith(start) && file.endsWith(extension) && file.length > start.length + extension.length,
    )
    .map(nameOf);
  const hint = didYouMean(nameOf(basename(files.overlay ?? "")), present);
  return hint || (present.length > 0 ? `; there are overlays for ${present.join(", ")}` : "");
}
