#!/usr/bin/env node
// The soak: an hour of mixed load on one gateway, and whether its memory stays flat. See README.md.
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { end, memoryMb, settled, withChildren } from "./process.mjs";
import { openRig } from "./rig.mjs";
import { soakConfig } from "./soak-config.mjs";
import { SoakLoad } from "./soak-load.mjs";
import { readStats, rowsByAlias, scrapeMetrics } from "./soak-reading.mjs";
import { growthOf, leftIn, NONE_MB, SOAK_MINUTES_MIN } from "./soak-verdict.mjs";
import { startSluicegate, versions, WORK } from "./targets.mjs";

const SAMPLE_MS = 5_000;
const RELOAD_MS = 300_000;

async function main() {
  const { minutes, rate } = readOptions();
  const found = versions({ portkey: false });
  const startedAt = new Date();
  await withChildren(async () => {
    const rig = await openRig();
    const gateway = await startSluicegate({ upstreamPort: rig.upstreamPort, folder: rig.folder, configOf: soakConfig });
    const pid = gateway.child.pid;
    const load = new SoakLoad(gateway.port, rate);
    await settled([pid]);
    const idle = { rss: memoryMb([pid]).rss, files: filesOf(pid) };
    const samples = await run({ load, gateway, minutes });
    await load.stop();
    await sleep(10_000);
    const stats = await readStats(gateway.port);
    const open = (await rig.counts()).openStreams;
    await end(gateway.child);
    const results = { startedAt, minutes, rate, versions: found, idle, samples, counts: load.counts, stats, open };
    results.rows = rowsByAlias(gateway.data, ["plain", "limited", "faulty", "gone"]);
    results.growth = growthOf(samples);
    process.stdout.write(`${describe(results)}\n`);
    judge(results, load);
    rig.remove();
  });
}

/** Runs the load and reads the gateway's memory all the while; it is told to read its config again every five minutes. */
async function run({ load, gateway, minutes }) {
  const pid = gateway.child.pid;
  const samples = [];
  const startedAt = performance.now();
  const endsAt = startedAt + minutes * 60_000;
  let reloadsAt = startedAt + RELOAD_MS;
  let saysAt = startedAt + 60_000;
  load.start();
  while (performance.now() < endsAt) {
    await sleep(SAMPLE_MS);
    load.check();
    const now = performance.now();
    const rss = memoryMb([pid]).rss;
    samples.push({ minute: (now - startedAt) / 60_000, rss, files: filesOf(pid) });
    await scrapeMetrics(gateway.port);
    if (now >= reloadsAt) {
      reloadsAt += RELOAD_MS;
      process.kill(pid, "SIGHUP");
    }
    if (now < saysAt) continue;
    saysAt += 60_000;
    truncateSync(gateway.log, 0);
    const { sent, answered } = load.totals();
    say(`minute ${Math.round((now - startedAt) / 60_000)}: ${sent} sent, ${answered} done, RSS ${rss.toFixed(1)} MB`);
  }
  return samples;
}

/** Keeps what was found for the report, unless something else was wrong than memory; then says so. */
function judge(results, load) {
  const lost = [...load.rowsMissing(results.rows), ...leftIn(results)];
  if (lost.length > 0) throw new Error(lost.join("; "));
  mkdirSync(WORK, { recursive: true });
  writeFileSync(join(WORK, "last-soak"), JSON.stringify(results));
  if (results.minutes < SOAK_MINUTES_MIN)
    return say("nothing kept, every row there; too short to say whether memory grows");
  const { perHour } = results.growth;
  if (perHour > NONE_MB) throw new Error(`memory grows by ${perHour.toFixed(1)} MB an hour`);
  say("flat, nothing kept, every row there");
}

function describe({ minutes, rate, idle, samples, growth, counts, rows }) {
  const quarters = growth.quarters.map((mb) => mb.toFixed(1)).join(", ");
  const files = samples.map((sample) => sample.files);
  return [
    `${minutes} minutes at ${rate} requests a second: ${Object.values(counts).reduce((sum, { sent }) => sum + sent, 0)} requests`,
    ...Object.entries(counts).map(([name, { sent, done }]) => `  ${name}: ${sent} sent, ${done} as expected`),
    `rows in the ledger: ${Object.entries(rows)
      .map(([alias, count]) => `${alias} ${count}`)
      .join(", ")}`,
    `RSS: ${idle.rss.toFixed(1)} MB before, medians of the last three quarters ${quarters} MB, peak ${growth.peak.toFixed(1)} MB`,
    `growth after the first quarter: ${growth.perHour.toFixed(2)} MB an hour`,
    `open files: ${idle.files} before, ${Math.min(...files)} to ${Math.max(...files)} under load`,
  ].join("\n");
}

function filesOf(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function readOptions() {
  const { values } = parseArgs({ options: { minutes: { type: "string" }, rate: { type: "string" } } });
  const minutes = Number(values.minutes ?? 60);
  const rate = Number(values.rate ?? 150);
  if (!(minutes >= 1 && minutes <= 24 * 60)) throw new Error("--minutes is from 1 to 1440");
  if (!(rate >= 1 && rate <= 1_000)) throw new Error("--rate is from 1 to 1000 requests a second");
  return { minutes, rate };
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`soak: ${error.message}\n`);
    process.exit(1);
  },
);
