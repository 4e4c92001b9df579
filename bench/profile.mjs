#!/usr/bin/env node
// Runs the gateway under load with V8's CPU profiler and prints where its own time goes, thread by thread.
// node bench/profile.mjs [--kind json|large|stream] [--seconds 15] [--top 40] [--gateway MAIN.js] [--keep]
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chatBody, LARGE_BODY_BYTES, SMALL_BODY_BYTES, streamBody } from "./payloads.mjs";
import { cpuNs, end, settled, withChildren } from "./process.mjs";
import { openRig } from "./rig.mjs";
import { startSluicegate, WORK } from "./targets.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const SAMPLE_US = 500;
const CONNECTIONS = 32;
const STREAMS = 100;
const STREAM_EVENTS = 200;

async function main() {
  const { kind, seconds, top, gateway, keep } = readOptions();
  await withChildren(async () => {
    const rig = await openRig();
    const profiles = join(rig.folder, "profiles");
    mkdirSync(profiles);
    const preload = join(root, "bench/profile-workers.cjs");
    const profiling = ["--cpu-prof", `--cpu-prof-interval=${SAMPLE_US}`, `--cpu-prof-dir=${profiles}`];
    const nodeArgs = ["--require", preload, ...profiling];
    const target = await startSluicegate({
      upstreamPort: rig.upstreamPort,
      folder: rig.folder,
      main: gateway,
      nodeArgs,
    });
    const pids = target.pids();
    await loadFor(rig, target, kind, seconds / 3);
    await settled(pids);
    const cpuBefore = cpuNs(pids);
    const fromUs = nowUs();
    const done = await loadFor(rig, target, kind, seconds);
    await settled(pids);
    const toUs = nowUs();
    const usEach = (cpuNs(pids) - cpuBefore) / 1_000 / done;
    await end(target.child);
    const threads = readdirSync(profiles)
      .map((name) => readProfile(join(profiles, name), fromUs, toUs))
      .filter(({ total }) => total > 0)
      .sort((a, b) => b.total - a.total);
    if (threads.length === 0) throw new Error("the gateway wrote no profile");
    const unit = kind === "stream" ? "event" : "request";
    print(`${done} ${unit}s, ${usEach.toFixed(1)} µs of CPU each with the profiler on (it adds to it)`);
    print("JSON.parse, JSON.stringify, regular expressions and string work count for the function that calls them\n");
    for (const thread of threads) printThread(thread, done, unit, top);
    if (keep) print(`profiles: ${profiles}`);
    else rig.remove();
  });
}

/** Loads the gateway for about so long; requests, or stream events, that were done. */
async function loadFor(rig, { port, path, headers }, kind, seconds) {
  const until = performance.now() + seconds * 1_000;
  let done = 0;
  while (performance.now() < until) {
    if (kind === "stream") {
      const target = { port, path, headers, body: streamBody(STREAM_EVENTS, 10) };
      done += (await rig.load("stream", { target, streams: STREAMS, events: STREAM_EVENTS })).events;
    } else {
      const target = { port, path, headers, body: chatBody(kind === "large" ? LARGE_BODY_BYTES : SMALL_BODY_BYTES) };
      done += (await rig.load("json", { target, requests: 2_000, connections: CONNECTIONS })).requests;
    }
  }
  return done;
}

/** Self time of each function of one thread within a span of time, in µs. */
function readProfile(file, fromUs, toUs) {
  const { nodes, samples, timeDeltas, startTime } = JSON.parse(readFileSync(file, "utf8"));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node])));
  const frames = new Map();
  let total = 0;
  let at = startTime;
  for (let i = 0; i < samples.length; i++) {
    at += timeDeltas[i];
    if (at < fromUs || at > toUs) continue;
    const node = byId.get(samples[i]);
    const { functionName, url, lineNumber } = node.callFrame;
    if (functionName === "(idle)") continue;
    // What a sample cost is the time to the next one.
    const cost = Math.max(0, timeDeltas[i + 1] ?? SAMPLE_US);
    total += cost;
    const place = placeOf(url);
    const caller = place === "" ? callerOf(node, parents) : "";
    const name = `${functionName || "(anonymous)"}${place ? ` ${place}:${lineNumber + 1}` : caller && ` ← ${caller}`}`;
    const frame = frames.get(name) ?? { name, group: groupOf(functionName, url, caller), us: 0 };
    frame.us += cost;
    frames.set(name, frame);
  }
  return { name: threadName(nodes), frames: [...frames.values()], total };
}

/** A worker thread is known by a file that only it runs. */
function threadName(nodes) {
  const urls = nodes.map((node) => node.callFrame.url);
  if (urls.some((url) => url.includes("/ledger/worker.js"))) return "ledger worker";
  if (urls.some((url) => url.includes("/http/server.js"))) return "main thread";
  const own = urls.find((url) => url.includes("/packages/"));
  return own ? placeOf(own) : "another thread";
}

/** Native code has no place of its own: it counts for the nearest JavaScript that called it. */
function callerOf(node, parents) {
  let at = parents.get(node.id);
  while (at && !at.callFrame.url) at = parents.get(at.id);
  return at ? `${at.callFrame.functionName || "(anonymous)"} ${placeOf(at.callFrame.url)}` : "";
}

function placeOf(url) {
  return url
    .replace(/^file:\/\//, "")
    .replace(/^.*\/packages\/([^/]+)\/dist\//, "$1/")
    .replace(/^.*\/node_modules\//, "npm:");
}

const SYSTEM_WRITES = /^(writev|writeBuffer|writeUtf8String|writeLatin1String|writeAsciiString)$/;
const FILE_WRITES = /^(writeString|writeBuffers|open|close|fstat|read|fsync|unlink|rename|ftruncate)$/;

/** Which part of the work a function belongs to. */
function groupOf(name, url, caller) {
  if (name === "(garbage collector)") return "GC";
  if (name === "(program)") return "outside JavaScript (event loop, system calls, reads)";
  if (url === "") {
    if (SYSTEM_WRITES.test(name) && !/node:(internal\/)?fs|npm:sonic-boom|spool/.test(caller))
      return "socket writes (system calls)";
    if (/spool|node:fs|sonic-boom/.test(caller) || FILE_WRITES.test(name)) return "file writes (spool, log)";
    if (/better-sqlite3|ledger\//.test(caller)) return "SQLite";
    return /gateway\//.test(caller)
      ? caller.replace(/^.* /, "")
      : groupOfModule(caller.replace(/^.* /, ""), "other native");
  }
  if (url.includes("/packages/")) return placeOf(url);
  return groupOfModule(placeOf(url), "other");
}

function groupOfModule(place, otherwise) {
  if (place.startsWith("npm:"))
    return place
      .split("/")
      .slice(0, place.startsWith("npm:@") ? 2 : 1)
      .join("/");
  if (/^node:(_http|internal\/http|internal\/url)/.test(place)) return "node:http";
  if (/^node:(net|internal\/stream_base_commons)/.test(place)) return "node:net";
  if (/^node:(internal\/streams|stream)/.test(place)) return "node:stream";
  if (/^node:(internal\/timers|timers|internal\/process\/task_queues|internal\/async_hooks|events)/.test(place))
    return "node: timers, ticks, events";
  if (/^node:(buffer|internal\/buffer)/.test(place)) return "node:buffer";
  if (/^node:(fs|internal\/fs)/.test(place)) return "file writes (spool, log)";
  return place.startsWith("node:") ? "node: other" : otherwise;
}

function printThread({ name, frames, total }, done, unit, top) {
  print(`## ${name}: ${(total / done).toFixed(1)} µs per ${unit}\n`);
  const groups = new Map();
  for (const { group, us } of frames) groups.set(group, (groups.get(group) ?? 0) + us);
  const rows = [...groups].map(([group, us]) => ({ name: group, us }));
  printRows("group", rows, total, done, top);
  printRows("function", frames, total, done, top);
}

function printRows(head, rows, total, done, top) {
  print(`${"self".padStart(6)} ${"µs".padStart(7)}  ${head}`);
  for (const { name, us } of rows.toSorted((a, b) => b.us - a.us).slice(0, top)) {
    print(`${((us / total) * 100).toFixed(1).padStart(5)}% ${(us / done).toFixed(2).padStart(7)}  ${name}`);
  }
  print("");
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      kind: { type: "string", default: "json" },
      seconds: { type: "string", default: "15" },
      top: { type: "string", default: "40" },
      gateway: { type: "string" },
      keep: { type: "boolean", default: false },
    },
  });
  if (!["json", "large", "stream"].includes(values.kind)) throw new Error("--kind is json, large or stream");
  const gateway = values.gateway ?? join(root, "packages/gateway/dist/main.js");
  if (!existsSync(gateway)) throw new Error(`${gateway} is missing: run \`npm run build\` first`);
  mkdirSync(WORK, { recursive: true });
  return { kind: values.kind, seconds: Number(values.seconds), top: Number(values.top), gateway, keep: values.keep };
}

/** Microseconds of the clock that V8 stamps its samples with. */
function nowUs() {
  return Number(process.hrtime.bigint() / 1_000n);
}

function print(text) {
  process.stdout.write(`${text}\n`);
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`profile: ${error.message}\n`);
    process.exit(1);
  },
);
