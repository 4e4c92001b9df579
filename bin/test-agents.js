// `npm run test:agents [NAME…]`: coding agents against a running gateway, each on every protocol of a provider's. The simulated
// model has the agent run a command with a tool of its own, and then ends. What cannot be installed is skipped by name.
// Hundreds of megabytes are installed once, below SLUICEGATE_AGENTS_DIR or the user's cache folder; everything else is on loopback.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AGENTS, PACKAGES } from "../test/agents/agents.js";
import { APIS, NOTE, SAYS, startStage } from "../test/agents/stage.js";
import { prepare } from "./prepare.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache =
  process.env.SLUICEGATE_AGENTS_DIR ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sluicegate-agents");
const RUN_MS = 120_000;
const INSTALL_MS = 600_000;

prepare();
const { startSimulator } = await import("../packages/simulator/dist/index.js");
const wanted = process.argv.slice(2);
const agents = AGENTS.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
const bins = installed(agents);
const runnable = agents.filter((agent) => bins.has(agent.package));
const work = mkdtempSync(join(tmpdir(), "sluicegate-agents-"));
const simulator = await startSimulator({ strict: true });
const totals = { passed: 0, failed: 0, skipped: (agents.length - runnable.length) * Object.keys(APIS).length };
try {
  for (const api of Object.keys(APIS)) await runApi(api);
} finally {
  await simulator.close();
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
process.exitCode = totals.failed > 0 ? 1 : 0;

async function runApi(api) {
  const main = join(root, "packages/gateway/dist/main.js");
  const stage = await startStage(main, join(work, `gateway-${api}`), api, runnable, simulator.url);
  try {
    for (const agent of runnable) {
      const began = Date.now();
      const wrong = await runAgent(stage, agent, join(work, `${api}-${totals.passed + totals.failed}`));
      totals[wrong === null ? "passed" : "failed"]++;
      const seconds = ((Date.now() - began) / 1_000).toFixed(1);
      const told = wrong === null ? "passed" : "FAILED";
      process.stdout.write(`${told} ${agent.name} on ${api}, ${seconds} s${wrong === null ? "" : `: ${wrong}`}\n`);
    }
  } finally {
    await stage.stop();
  }
}

/** Runs it once; what is wrong with what it did, or null. */
async function runAgent(stage, agent, folder) {
  const home = join(folder, "home");
  const scratch = join(folder, "work");
  for (const path of [home, scratch, join(folder, "tmp")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(scratch, NOTE.file), NOTE.text);
  simulator.reset();
  const { url, key } = stage;
  const { args, env } = agent.start({ url, key, model: agent.model, home, work: scratch });
  const run = await ended(bins.get(agent.package), args, scratch, { ...surroundings(home, folder), ...env });
  const asked = simulator.requests().recent;
  return wrongWith(agent, run, await stage.rows(agent.model, Math.max(1, asked.length)), asked);
}

function wrongWith(agent, run, rows, asked) {
  const told = `\n${run.out.slice(-1_500)}\n${run.err.slice(-3_000)}`;
  const failed = rows.find(({ status }) => status !== "ok");
  if (failed) return `a request was ${failed.status}: ${failed.error_code} ${failed.error_message ?? ""}${told}`;
  if (run.code !== 0) return `it ended with ${run.code ?? run.signal}${told}`;
  if (!run.out.includes(SAYS)) return `it does not print the model's text${told}`;
  const bad = asked.find(({ status }) => status !== 200);
  if (bad) return `the provider answered ${bad.status} to ${JSON.stringify(bad.body)?.slice(0, 1_000)}`;
  if (!asked.some(({ body }) => JSON.stringify(body).includes(NOTE.text)))
    return `the tool's result was not sent${told}`;
  const other = rows.find(({ dialect }) => dialect !== agent.dialect);
  if (other) return `it asked in ${other.dialect}`;
  const ends = new Set(rows.map(({ finish_reason: reason }) => reason));
  return ends.has("tool_calls") && ends.has("stop") ? null : `the answers ended with ${[...ends]}`;
}

/** An environment of its own: nothing of the user's settings, and a dead end for whatever does not go to loopback. */
function surroundings(home, folder) {
  const dead = "http://127.0.0.1:9";
  const node = bins.get("node");
  return {
    PATH: [...(node ? [dirname(node)] : []), process.env.PATH ?? ""].join(delimiter),
    HOME: home,
    TMPDIR: join(folder, "tmp"),
    NO_COLOR: "1",
    CI: "1",
    HTTP_PROXY: dead,
    HTTPS_PROXY: dead,
    NO_PROXY: "127.0.0.1,localhost",
    // opencode installs a package of its own in the background, and does without.
    npm_config_registry: dead,
    npm_config_fetch_retries: "0",
  };
}

/** Runs a program to its end, or ends it and its children when it takes too long. */
function ended(command, args, cwd, env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const run = { code: null, signal: null, out: "", err: "" };
    const timer = setTimeout(() => process.kill(-child.pid, "SIGKILL"), RUN_MS);
    child.stdout.on("data", (chunk) => {
      run.out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      run.err += chunk;
    });
    child.on("error", (error) => {
      run.err += error.message;
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ ...run, code, signal });
    });
  });
}

/** Programs by the name of their package; those that cannot be had are said aloud and left out. */
function installed(agents) {
  const bins = new Map();
  const needed = new Map([["node", "node"], ...agents.map((agent) => [agent.package, agent.bin])]);
  for (const [name, bin] of needed) {
    const folder = join(cache, PACKAGES[name].replace(/[@/]+/g, "_"));
    const path = join(folder, "node_modules", ".bin", bin);
    if (!existsSync(path) && !install(folder, PACKAGES[name])) continue;
    const tried = spawnSync(path, ["--version"], {
      env: { ...process.env, HOME: tmpdir(), PATH: pathWith(bins) },
      timeout: 60_000,
    });
    if (tried.status === 0) bins.set(name, path);
    else process.stdout.write(`skipped ${PACKAGES[name]}: it does not run here\n`);
  }
  return bins;
}

function pathWith(bins) {
  const node = bins.get("node");
  return [...(node ? [dirname(node)] : []), process.env.PATH ?? ""].join(delimiter);
}

function install(folder, requirement) {
  mkdirSync(folder, { recursive: true });
  process.stderr.write(`Installing ${requirement} (once)…\n`);
  const args = ["install", "--prefix", folder, "--no-fund", "--no-audit", "--loglevel", "error", requirement];
  const { status } = spawnSync("npm", args, { stdio: ["ignore", 2, 2], timeout: INSTALL_MS });
  if (status !== 0) process.stdout.write(`skipped ${requirement}: it cannot be installed\n`);
  return status === 0;
}
