#!/usr/bin/env node
// The benchmark: CPU, latency and memory of the gateway next to nginx and Portkey, in interleaved rounds. See README.md.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { check, KINDS, measureJson, measureLatency, measureMemory, measureStream, takesPart } from "./measure.mjs";
import { end, withChildren } from "./process.mjs";
import { redisCommand } from "./redis.mjs";
import { RESULTS, writeReport } from "./report.mjs";
import { openRig } from "./rig.mjs";
import { measureStore } from "./store.mjs";
import { directTarget, startBare, startNginx, startPortkey, startSluicegate, versions, WORK } from "./targets.mjs";

const FULL = {
  connections: 32,
  requests: { json: { default: 20_000, portkey: 1_500 }, large: { default: 8_000, portkey: 600 } },
  streams: 100,
  streamEvents: 200,
  streamIntervalMs: 10,
  samples: { default: 3_000, portkey: 500 },
  heldStreams: 1_000,
  heldSeconds: 15,
};

const QUICK = {
  ...FULL,
  requests: { json: { default: 8_000, portkey: 500 }, large: { default: 2_500, portkey: 200 } },
  streamEvents: 100,
  samples: { default: 800, portkey: 200 },
  heldSeconds: 8,
};

const STARTERS = { nginx: startNginx, bare: startBare, sluicegate: startSluicegate, portkey: startPortkey };

async function main() {
  const options = readOptions();
  const { only, quick, rounds, portkey, gateway } = options;
  const sizes = quick ? QUICK : FULL;
  const found = versions({ portkey, main: gateway });
  if (cpus().length < 2) throw new Error("two cores are needed: one for the proxy, one for load and upstream");
  const startedAt = new Date();
  await withChildren(async () => {
    const rig = await openRig();
    const direct = directTarget(rig.upstreamPort);
    await check(rig, direct);
    const targets = {};
    for (const name of only === "store" ? [] : Object.keys(STARTERS)) {
      if (name === "portkey" && !portkey) continue;
      say(`starting ${name}`);
      targets[name] = await STARTERS[name]({ upstreamPort: rig.upstreamPort, folder: rig.folder, main: gateway });
      await check(rig, targets[name]);
    }
    const store = !only || only === "store" ? await storeTrips(rig, gateway) : null;
    const kinds = KINDS.filter((kind) => kind !== "rss" && (!only || only === kind));
    const samples = kinds.length > 0 ? await allRounds(rig, targets, direct, kinds, rounds, sizes) : [];
    const memory = !only || only === "rss" ? await allMemory(rig, targets, gateway, samples.length > 0, sizes) : null;
    const results = { startedAt, quick, rounds, sizes, versions: found, samples, memory, store };
    mkdirSync(WORK, { recursive: true });
    writeFileSync(join(WORK, "last-run"), JSON.stringify(results));
    const table = writeReport(results, options.out, { soaked: options.whole });
    process.stdout.write(`\n${table}\nwritten to ${options.out}\n`);
    for (const target of Object.values(targets)) await end(target.child);
    rig.remove();
  });
}

/** The first round warms up and is thrown away. In each, every proxy in turn is the only one under load; the order rotates. */
async function allRounds(rig, targets, direct, kinds, rounds, sizes) {
  const names = Object.keys(targets);
  const samples = [];
  for (let round = 0; round <= rounds; round++) {
    const at = round % names.length;
    const order = [...names.slice(at), ...names.slice(0, at)];
    const sample = {};
    for (const kind of kinds) {
      sample[kind] = {};
      const measured = order.filter((name) => takesPart(targets[name], kind));
      for (const name of measured) sample[kind][name] = await measureOne(rig, targets[name], direct, kind, sizes);
    }
    say(`${round === 0 ? "warm-up" : `round ${round} of ${rounds}`}: ${line(sample)}`);
    if (round > 0) samples.push(sample);
  }
  return samples;
}

function measureOne(rig, target, direct, kind, sizes) {
  if (kind === "stream" || kind === "translated") return measureStream(rig, target, kind, sizes);
  if (kind === "latency") return measureLatency(rig, target, direct, sizes);
  return measureJson(rig, target, kind, sizes);
}

/** Memory of the processes that have served the rounds, and of a gateway that has just started. */
async function allMemory(rig, targets, gateway, worn, sizes) {
  const memory = {};
  for (const [name, target] of Object.entries(targets)) {
    if (!takesPart(target, "rss")) continue;
    memory[name] = await measureMemory(rig, target, sizes);
    say(`memory of ${name}: ${memory[name].rss.toFixed(0)} MB with ${sizes.heldStreams} streams`);
    await end(target.child);
  }
  if (!worn) return memory;
  const { upstreamPort, folder } = rig;
  const fresh = await startSluicegate({ upstreamPort, folder, main: gateway, name: "sluicegate-fresh" });
  memory.fresh = await measureMemory(rig, fresh, sizes);
  say(`memory of a fresh gateway: ${memory.fresh.rss.toFixed(0)} MB with ${sizes.heldStreams} streams`);
  await end(fresh.child);
  return memory;
}

/** Null without a Redis here. */
async function storeTrips(rig, gateway) {
  if (!redisCommand()) {
    say("shared store: left out, redis-server is missing: `apt-get install redis-server`");
    return null;
  }
  const store = await measureStore(rig, gateway);
  const { json, stream, keyed, together } = store;
  say(
    `shared store, round trips a request: json ${json.trips}, stream ${stream.trips}, with a key ${keyed.trips}, together ${together.trips}`,
  );
  return store;
}

function line(sample) {
  return Object.entries(sample)
    .map(([kind, byName]) => {
      const figures = Object.entries(byName).map(([name, it]) =>
        kind === "latency"
          ? `${name} +${it.p50.toFixed(3)}/+${it.p99.toFixed(3)} ms`
          : `${name} ${it.us.toFixed(1)} µs`,
      );
      return `${kind}: ${figures.join(", ")}`;
    })
    .join(" · ");
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string" },
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      "no-portkey": { type: "boolean", default: false },
      out: { type: "string" },
      gateway: { type: "string" },
    },
  });
  const { only, quick } = values;
  const rounds = Number(values.rounds ?? (quick ? 2 : 12));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 1_000) throw new Error("--rounds is a whole number from 1");
  const parts = [...KINDS, "store"];
  if (only !== undefined && !parts.includes(only)) throw new Error(`--only is one of ${parts.join(", ")}`);
  const portkey = !values["no-portkey"];
  // Part of a benchmark does not replace a whole one.
  const whole = !quick && !only && portkey && rounds >= 12 && !values.gateway;
  const out = values.out ?? (whole ? RESULTS : join(WORK, "RESULTS.md"));
  return { only, quick, rounds, portkey, out, whole, gateway: values.gateway };
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`bench: ${error.message}\n`);
    process.exit(1);
  },
);
