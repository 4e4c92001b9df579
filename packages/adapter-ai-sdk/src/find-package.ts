import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The file a package's name leads to: seen from `folder`, else from where the adapter itself is installed. Null: neither
 * has it. Nothing of the package runs.
 */
export function findPackage(name: string, folder: string): string | null {
  return foundFrom(name, folder) ?? foundFrom(name, dirname(fileURLToPath(import.meta.url)));
}

function foundFrom(name: string, folder: string): string | null {
  const from = createRequire(join(folder, "package.json"));
  try {
    return from.resolve(name);
  } catch {
    // There is none, or it is one that can only be imported.
    return importable(name, from.resolve.paths(name) ?? []);
  }
}

/** `require.resolve` does not know the condition `import`. */
function importable(name: string, folders: readonly string[]): string | null {
  const [, own = "", below = ""] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [];
  for (const folder of folders) {
    const root = join(folder, own);
    const manifest = join(root, "package.json");
    if (own === "" || !existsSync(manifest)) continue;
    const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as { exports?: unknown };
    const entry = entryOf(member(exports, `.${below}`) ?? (below === "" ? exports : undefined));
    return entry === null ? null : join(root, entry);
  }
  return null;
}

function entryOf(target: unknown): string | null {
  if (typeof target === "string") return target;
  for (const condition of ["node", "import", "default"]) {
    const found = member(target, condition);
    if (found !== undefined) return entryOf(found);
  }
  return null;
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
