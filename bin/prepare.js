// Makes a clone ready to run: installs and builds when that has not been done, or the sources are newer. Node.js and npm only.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const installed = join(root, "node_modules", ".package-lock.json");
const stamp = join(root, "packages", "gateway", "dist", ".built");

/** Installs what package-lock.json names and compiles, each only when needed. Output goes to stderr. Throws when either fails. */
export function prepare() {
  if (!existsSync(installed) || mtime(join(root, "package-lock.json")) > mtime(installed)) {
    step("Installing dependencies (once)…", "npm", ["ci", "--no-fund", "--no-audit"]);
    if (existsSync(installed)) utimesSync(installed, new Date(), new Date());
  }
  const sources = Math.max(
    ...["contract", "client", "simulator", "adapter-ai-sdk", "gateway"].map((name) =>
      newest(join(root, "packages", name, "src")),
    ),
  );
  if (!existsSync(stamp) || sources > mtime(stamp)) {
    step("Building…", process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), "-b"]);
    writeFileSync(stamp, "");
  }
}

function step(title, command, args) {
  process.stderr.write(`${title}\n`);
  const shell = process.platform === "win32";
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], shell });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
}

function mtime(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : mtime(path));
  }
  return latest;
}
