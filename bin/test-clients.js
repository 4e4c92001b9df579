// `npm run test:clients`: SDKs of other languages against a running gateway. What PyPI cannot be asked for is skipped by name.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gatewayConfig } from "../test/clients/gateway-config.js";
import { prepare } from "./prepare.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Each script of test/clients, and what it needs, the library it tests first; what these need floats within their bounds. */
const CLIENTS = [
  { script: "openai_chat.py", requirements: ["openai==3.57.0"] },
  { script: "anthropic_messages.py", requirements: ["anthropic==2.14.0"] },
  { script: "google_genai.py", requirements: ["google-genai==3.6.1"] },
  {
    script: "langchain_chat.py",
    requirements: ["langchain-openai==1.7.4", "langchain-core==1.8.3", "openai==3.57.0"],
  },
  {
    script: "llama_index_chat.py",
    requirements: [
      "llama-index-llms-openai-like==0.8.1",
      "llama-index-llms-openai==0.8.3",
      "llama-index-core==0.14.25",
      "openai==2.54.0",
    ],
  },
  { script: "instructor_models.py", requirements: ["instructor==1.17.0", "openai==3.3.0"] },
];
/** What pip says where nobody answers. */
const UNREACHABLE = /connection broken by|Could not fetch URL|ProxyError|NewConnectionError|Name or service not known/;

prepare();
const work = mkdtempSync(join(tmpdir(), "sluicegate-clients-"));
const { startSimulator } = await import(pathToFileURL(join(root, "packages/simulator/dist/index.js")).href);
const simulator = await startSimulator();
let gateway;
try {
  const python = pythonOfItsOwn();
  if (python) {
    gateway = await serve();
    for (const client of CLIENTS) if (!(await passes(python, client))) process.exitCode = 1;
  }
} finally {
  gateway?.child.kill("SIGTERM");
  await simulator.close();
  rmSync(work, { recursive: true, force: true });
}

/** A Python in a venv of its own, or null, said aloud, where there is none. */
function pythonOfItsOwn() {
  const venv = join(work, "venv");
  const python = join(venv, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const made = spawnSync("python3", ["-m", "venv", venv], { stdio: "ignore" });
  if (made.status === 0 && existsSync(python)) return python;
  for (const { requirements } of CLIENTS) skip(requirements[0], "python3 with venv is not here");
  return null;
}

/**
 * Installs what a script needs and runs it; true when it passes, or is skipped because PyPI cannot be reached. Each has a folder of
 * its own: they want different versions of the OpenAI SDK.
 */
async function passes(python, { script, requirements }) {
  const [name] = requirements;
  const packages = join(work, script);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", "--target", packages];
  const installed = await run(python, [...pip, ...requirements]);
  if (installed.status !== 0) {
    if (UNREACHABLE.test(installed.errors)) return skip(name, "PyPI cannot be reached");
    process.stdout.write(`FAILED  python ${name}: cannot be installed\n${installed.errors}\n`);
    return false;
  }
  const ran = await run(python, [join(root, "test", "clients", script)], packages);
  rmSync(packages, { recursive: true, force: true });
  return ran.status === 0;
}

/** Runs Python to its end, with the packages of a folder. The simulator answers meanwhile: it lives in this process. */
function run(command, args, packages = "") {
  const env = {
    ...process.env,
    ...{ SLUICEGATE_URL: gateway.url, SLUICEGATE_KEY: gateway.key },
    ...{ PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: "1" },
  };
  const child = spawn(command, args, { env, stdio: ["ignore", "inherit", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
    process.stderr.write(chunk);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, errors }));
  });
}

function skip(requirement, reason) {
  process.stdout.write(`skipped python ${requirement}: ${reason}\n`);
  return true;
}

/** A gateway in front of the simulator, on a free port, with a data dir of its own. */
function serve() {
  const key = `sg_clients_${randomBytes(32).toString("hex")}`;
  const config = join(work, "sluicegate.yaml");
  writeFileSync(config, gatewayConfig(simulator.url, key));
  const args = [join(root, "packages/gateway/dist/main.js"), "serve", "--port", "0", "--config", config];
  const child = spawn(process.execPath, args, {
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
      if (url) resolve({ child, url, key });
    });
  });
}
