// `npm run test:clients`: SDKs of other languages against a running gateway. What cannot be installed is skipped by name.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { prepare } from "./prepare.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const OPENAI_PYTHON = "openai==3.57.0";

prepare();
const work = mkdtempSync(join(tmpdir(), "sluicegate-clients-"));
let gateway;
try {
  const python = pythonWith(OPENAI_PYTHON);
  if (python) {
    gateway = await serve();
    const env = { ...process.env, SLUICEGATE_URL: gateway.url, SLUICEGATE_KEY: gateway.key };
    const { status } = spawnSync(python, [join(root, "test", "clients", "openai_chat.py")], { env, stdio: "inherit" });
    process.exitCode = status ?? 1;
  }
} finally {
  gateway?.child.kill("SIGTERM");
  rmSync(work, { recursive: true, force: true });
}

/** A Python of its own that has the package, or null, said aloud, where that cannot be had. */
function pythonWith(requirement) {
  const venv = join(work, "venv");
  const python = join(venv, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const made = spawnSync("python3", ["-m", "venv", venv], { stdio: "ignore" });
  if (made.status !== 0 || !existsSync(python)) return skip("python3 with venv is not here");
  const installed = spawnSync(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return installed.status === 0 ? python : skip(`${requirement} cannot be installed`);
}

function skip(reason) {
  process.stdout.write(`skipped python openai: ${reason}\n`);
  return null;
}

/** A gateway without a config, on a free port, with a data dir of its own. */
function serve() {
  const child = spawn(process.execPath, [join(root, "packages/gateway/dist/main.js"), "serve", "--port", "0"], {
    cwd: work,
    env: { PATH: process.env.PATH ?? "", HOME: work },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    let text = "";
    child.on("exit", (code) => reject(new Error(`the gateway ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      text += chunk;
      const url = /serving on (\S+)/.exec(text)?.[1];
      const key = /\bsg_dev_[0-9a-f]+/.exec(text)?.[0];
      if (url && key) resolve({ child, url, key });
    });
  });
}
