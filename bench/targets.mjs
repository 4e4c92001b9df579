// What is measured: nginx, Sluicegate and Portkey, each started on the proxy's core in front of the same upstream.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MODEL } from "./payloads.mjs";
import { family, PROXY_CORE, start, untilReady } from "./process.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** Scratch folder of the benchmark; git ignores it. */
export const WORK = join(here, ".work");

const KEY = `sg_bench_${"b".repeat(48)}`;
const PORTKEY = {
  "@portkey-ai/gateway": "1.15.2",
  hono: "4.9.7",
  "@hono/node-server": "1.13.5",
  "@hono/node-ws": "1.2.0",
};

/** Ceilings of each dimension that nothing here reaches: what they cost is asked, not what they refuse. */
const CEILINGS = "{ rpm: 10000000, tpm: 10000000000, concurrency: 10000";
const FLOORS = "{ bench: { rpm: 1000000, tpm: 1000000000 } }";

/** nginx with proxy_pass: one worker, kept-alive connections on both sides, no access log. The plain-proxy limit. */
export async function startNginx({ upstreamPort, folder }) {
  const port = await freePort();
  const file = join(folder, "nginx.conf");
  writeFileSync(file, nginxConfig(port, upstreamPort, folder));
  const log = join(folder, "nginx.log");
  const args = ["-p", folder, "-c", file, "-e", join(folder, "nginx-error.log")];
  const child = start({ name: "nginx", core: PROXY_CORE, command: nginxCommand(), args, log });
  await untilReady(child, () => listens(port));
  return target("nginx", child, { port, streamPath: "/stream/v1/chat/completions", headers: {} });
}

/**
 * The gateway as built, its access log and ledger on. `nodeArgs` go to node, for profiles; `configOf` gives another config. With
 * `store`, the address of a Redis, it shares its state there and has ceilings on everything.
 */
export async function startSluicegate({
  upstreamPort,
  folder,
  main = gatewayMain(),
  nodeArgs = [],
  name = "sluicegate",
  store = null,
  configOf = sluicegateConfig,
}) {
  const port = await freePort();
  const config = join(folder, `${name}.yaml`);
  writeFileSync(config, configOf(port, upstreamPort, store));
  const log = join(folder, `${name}-access.log`);
  const data = join(folder, `${name}-data`);
  const args = [...nodeArgs, main, "serve", "--config", config, "--data-dir", data];
  const env = { NODE_ENV: "production", SLUICEGATE_ADMIN_KEY: "" };
  const child = start({ name, core: PROXY_CORE, command: process.execPath, args, log, env, cwd: folder });
  await untilReady(child, () => listens(port));
  const headers = { authorization: `Bearer ${KEY}` };
  return { ...target(name, child, { port, headers }), translatedPath: "/v1/messages", data };
}

/** A proxy on node:http that does nothing but pass on and parse: what of the gateway's cost is node's. It takes no streams. */
export async function startBare({ upstreamPort, folder }) {
  const port = await freePort();
  const log = join(folder, "bare.log");
  const args = [join(here, "bare-proxy.mjs"), String(port), String(upstreamPort)];
  const child = start({
    name: "bare",
    core: PROXY_CORE,
    command: process.execPath,
    args,
    log,
    env: { NODE_ENV: "production" },
  });
  await untilReady(child, () => listens(port));
  return target("bare", child, { port, headers: {}, streamPath: null });
}

/** Portkey as its package starts it, one provider a request by header. Installed on demand. */
export async function startPortkey({ upstreamPort, folder }) {
  const port = await freePort();
  const log = join(folder, "portkey.log");
  const main = join(installPortkey(), "node_modules/@portkey-ai/gateway/build/start-server.js");
  const args = [main, `--port=${port}`, "--headless"];
  const env = { NODE_ENV: "production" };
  const child = start({ name: "portkey", core: PROXY_CORE, command: process.execPath, args, log, env, cwd: folder });
  await untilReady(child, () => listens(port));
  const headers = {
    authorization: "Bearer bench-upstream-key",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
  };
  return target("portkey", child, { port, headers });
}

/** The upstream itself, as a target: what latency is compared with. */
export function directTarget(upstreamPort) {
  return { name: "direct", port: upstreamPort, path: PATH, streamPath: PATH, headers: {} };
}

/** Versions of what is measured, for the report. Throws, with what to do, when nginx or the build is missing. */
export function versions({ portkey, main = gatewayMain() }) {
  if (!existsSync(main)) throw new Error(`${main} is missing: run \`npm run build\` first`);
  const nginx = spawnSync(nginxCommand(), ["-v"], { encoding: "utf8" });
  return {
    nginx: /nginx\/(\S+)/.exec(nginx.stderr)?.[1] ?? "unknown",
    sluicegate: JSON.parse(readFileSync(join(here, "../packages/gateway/package.json"), "utf8")).version,
    commit:
      git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain", "--", "packages") ? " with changes" : ""),
    node: process.version,
    portkey: portkey ? PORTKEY : null,
  };
}

const PATH = "/v1/chat/completions";

function target(name, child, { port, headers, streamPath = PATH }) {
  return { name, child, port, headers, path: PATH, streamPath, pids: () => family(child.pid), log: child.log };
}

function gatewayMain() {
  return join(here, "../packages/gateway/dist/main.js");
}

function nginxCommand() {
  const found = [...(process.env.PATH ?? "").split(":"), "/usr/sbin"].map((dir) => join(dir, "nginx")).find(existsSync);
  if (!found) throw new Error("nginx is missing: `apt-get update && apt-get install -y nginx-light`");
  return found;
}

function nginxConfig(port, upstreamPort, folder) {
  const location = (path, extra) =>
    `    location ${path} { proxy_pass http://upstream/; proxy_http_version 1.1; proxy_set_header Connection ""; ${extra} }`;
  return `user root;
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
events { worker_connections 16384; }
http {
  access_log off;
  error_log ${folder}/nginx-error.log error;
  client_body_temp_path ${folder}/nginx-body;
  proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-fastcgi;
  uwsgi_temp_path ${folder}/nginx-uwsgi;
  scgi_temp_path ${folder}/nginx-scgi;
  client_body_buffer_size 128k;
  client_max_body_size 32m;
  keepalive_requests 100000000;
  upstream upstream { server 127.0.0.1:${upstreamPort}; keepalive 2048; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
${location("/", "")}
${location("/stream/", "proxy_buffering off;")}
  }
}
`;
}

function sluicegateConfig(port, upstreamPort, store) {
  const [state, account, first] = store
    ? [`state: ${store}\n`, `    limits: ${CEILINGS} }\n`, `, limits: ${CEILINGS}, floors: ${FLOORS} }`]
    : ["", "", ""];
  return `gateway:
  listen: 127.0.0.1:${port}
${state}providers:
  upstream:
    kind: openai-compatible
    base_url: http://127.0.0.1:${upstreamPort}/v1
    api_key: bench-upstream-key
    pool: { connections: 2048 }
${account}deployments:
  first: { provider: upstream, model: bench-model-2026-01-01, price: { input: 2.5, cached_input: 1.25, output: 10 }${first} }
  second: { provider: upstream, model: bench-model-2025-01-01, price: { input: 2.5, output: 10 } }
routes:
  ${MODEL}: { chain: [first, second] }
tenants:
  bench: { models: { allow: "*" } }
keys:
  - { id: bench, hash: "sha256:${createHash("sha256").update(KEY).digest("hex")}", tenant: bench }
`;
}

function installPortkey() {
  const folder = join(WORK, "portkey");
  const wanted = `${JSON.stringify({ name: "portkey-for-bench", private: true, dependencies: PORTKEY }, null, 2)}\n`;
  const installed = join(folder, "node_modules/.package-lock.json");
  const manifest = join(folder, "package.json");
  if (existsSync(installed) && readFileSync(manifest, "utf8") === wanted) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, wanted);
  process.stderr.write("installing Portkey (once)…\n");
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return folder;
}

/** Whether something accepts connections on a port of 127.0.0.1. */
export function listens(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** A port of 127.0.0.1 on which nobody listens. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function git(...args) {
  return spawnSync("git", args, { cwd: here, encoding: "utf8" }).stdout?.trim() ?? "";
}
