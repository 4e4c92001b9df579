// Turns the samples of a run into RESULTS.md. Alone, it writes the report of the last run again: `node bench/report.mjs [OUT]`.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NONE_MB, SOAK_MINUTES_MIN } from "./soak-verdict.mjs";
import { summary } from "./statistics.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** Where the report of a whole run goes. */
export const RESULTS = join(here, "RESULTS.md");

const BUDGET = [
  { kind: "json", title: "CPU per request, 1.5 KB JSON, × nginx", must: 4.5, goal: 3.3 },
  { kind: "stream", title: "CPU per paced stream event, × nginx", must: 2.0, goal: 1.7 },
  {
    kind: "translated",
    title: "CPU per translated stream event (OpenAI to Anthropic), × nginx passing it",
    must: null,
    goal: null,
  },
  { kind: "large", title: "CPU per request, 40 KB JSON, × nginx", must: 5.3, goal: 4.5 },
  { kind: "latency", part: "p50", title: "Added latency at concurrency 1, p50, ms", must: 0.4, goal: 0.25 },
  { kind: "latency", part: "p99", title: "Added latency at concurrency 1, p99, ms", must: 2, goal: 1 },
  { kind: "rss", title: "RSS with STREAMS open streams, MB", must: 250, goal: 150 },
  { kind: "growth", title: "RSS growth over an hour of mixed load, MB", must: "none", goal: "none" },
  { kind: "store", title: "Shared store round trips a request", must: 2, goal: 1 },
];

const NAMES = { nginx: "nginx", bare: "bare node", sluicegate: "Sluicegate", portkey: "Portkey" };

/** Writes the report to `file` and returns its tables. With `soaked`, the last soak on this machine is part of it. */
export function writeReport(measured, file, { soaked = false } = {}) {
  const results = { ...measured, soak: soaked ? lastSoak() : null };
  const tables = [budgetTable(results), absoluteTable(results)].filter(Boolean).join("\n");
  writeFileSync(file, `# Benchmark results\n\n${machineLines(results)}\n${tables}\n${notes(results)}`);
  return tables;
}

function budgetTable(results) {
  const others = namesOf(results).filter((name) => name === "bare" || name === "portkey");
  const rows = BUDGET.map((row) => {
    const own = figure(results, row, "sluicegate");
    if (!own) return null;
    const title = row.title.replace("STREAMS", results.sizes.heldStreams.toLocaleString("en"));
    const cells = [
      title,
      row.must ?? "",
      row.goal ?? "",
      spread(own, row),
      row.must === null ? "" : reached(own.median, row),
    ];
    for (const name of others) {
      const other = figure(results, row, name);
      cells.push(other ? spread(other, row) : "");
    }
    return cells;
  }).filter(Boolean);
  const head = ["figure", "must", "goal", "Sluicegate, median (quartiles)", "reached"];
  return table([...head, ...others.map((name) => NAMES[name])], rows);
}

/** The spread of one figure over the rounds: ratios to nginx of the same round, milliseconds, or megabytes. Null when it was not measured. */
function figure({ samples, memory, store, soak }, { kind, part }, name) {
  if (kind === "growth") return soak && name === "sluicegate" ? summary([soak.growth.perHour]) : null;
  if (kind === "store")
    return store && name === "sluicegate" ? summary([Math.max(store.json.trips, store.stream.trips)]) : null;
  if (kind === "rss") {
    if (!memory?.[name]) return null;
    const worst = Math.max(memory[name].rss, (name === "sluicegate" && memory.fresh?.rss) || 0);
    return summary([worst]);
  }
  if (!samples[0]?.[kind]?.[name]) return null;
  return summary(samples.map((s) => (part ? s[kind][name][part] : s[kind][name].us / s[kind].nginx.us)));
}

function reached(median, { must, goal }) {
  if (must === "none") return median <= NONE_MB ? "goal" : "**no**";
  if (median <= goal) return "goal";
  return median <= must ? "must" : "**no**";
}

function absoluteTable({ samples, memory, sizes }) {
  const names = namesOf({ samples, memory });
  if (names.length === 0) return "";
  const over = (kind, value) =>
    names.map((name) => (samples[0][kind][name] ? summary(samples.map((s) => value(s[kind][name]))).median : null));
  const rows = [];
  const add = (title, values, digits) => rows.push([title, ...values.map((value) => value?.toFixed(digits) ?? "")]);
  for (const [kind, title] of [
    ["json", "CPU per 1.5 KB request, µs"],
    ["large", "CPU per 40 KB request, µs"],
    ["stream", "CPU per stream event, µs"],
    ["translated", "CPU per translated stream event, µs"],
  ]) {
    if (!samples[0]?.[kind]) continue;
    add(
      title,
      over(kind, (it) => it.us),
      1,
    );
    const main = over(kind, (it) => it.mainUs);
    rows.push([
      "… of it on the event loop's thread",
      ...main.map((us, i) => (names[i] === "nginx" || us === null ? "" : us.toFixed(1))),
    ]);
    add(
      `… how busy its core was, %`,
      over(kind, (it) => it.busy * 100),
      0,
    );
    add(
      `… what others took of its core, %`,
      over(kind, (it) => it.others * 100),
      0,
    );
  }
  if (samples[0]?.latency) {
    for (const part of ["p50", "p99"]) {
      add(
        `Latency ${part}, straight to the upstream, ms`,
        over("latency", (it) => it.straight[part]),
        3,
      );
      add(
        `Latency ${part}, through the proxy, ms`,
        over("latency", (it) => it.through[part]),
        3,
      );
    }
  }
  if (memory) {
    add(
      `RSS with ${sizes.heldStreams.toLocaleString("en")} streams, MB`,
      names.map((name) => memory[name]?.rss),
      0,
    );
    add(
      "RSS before them, MB",
      names.map((name) => memory[name]?.idle),
      0,
    );
    add(
      "Calls still running upstream 10 s after the clients left",
      names.map((name) => memory[name]?.left),
      0,
    );
    const fresh = memory.fresh?.rss.toFixed(0);
    if (fresh)
      rows.push([
        "RSS with them, gateway just started, MB",
        ...names.map((name) => (name === "sluicegate" ? fresh : "")),
      ]);
  }
  const head = ["median, **for this machine only**", ...names.map((name) => NAMES[name])];
  return table(head, rows);
}

/** What the last `npm run soak` found, if it ran at least half an hour. */
function lastSoak() {
  const file = join(here, ".work", "last-soak");
  const soak = existsSync(file) && JSON.parse(readFileSync(file, "utf8"));
  return soak && soak.minutes >= SOAK_MINUTES_MIN ? soak : null;
}

function machineLines({ startedAt, quick, rounds, samples, memory, sizes, versions, soak }) {
  const portkey = versions.portkey && Object.entries(versions.portkey).map(([name, version]) => `${name} ${version}`);
  const { requests, streams, streamEvents, streamIntervalMs, connections } = sizes;
  return `${[
    `- ${minuteOf(startedAt)} UTC, ${
      samples.length ? `${rounds} rounds` : memory ? "memory only" : "shared store only"
    }${quick ? ", **quick run: not to be quoted**" : ""}`,
    `- ${cpus().length} cores, ${cpus()[0].model}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}`,
    `- Node.js ${versions.node}, Sluicegate ${versions.sluicegate} (${versions.commit}), nginx ${versions.nginx}${
      portkey ? `, ${portkey.join(", ")}` : ""
    }`,
    `- a round: ${connections} connections, ${number(requests.json.default)} small and ${number(requests.large.default)} large requests` +
      `${portkey ? ` (Portkey ${number(requests.json.portkey)} and ${number(requests.large.portkey)})` : ""}, ` +
      `${streams} streams of ${streamEvents} events, one every ${streamIntervalMs} ms`,
    soak &&
      `- growth: ${soak.minutes} minutes at ${soak.rate} requests a second from ${minuteOf(soak.startedAt)} UTC, ` +
        `Sluicegate ${soak.versions.commit}; medians of its last three quarters ` +
        `${soak.growth.quarters.map((mb) => mb.toFixed(0)).join(", ")} MB`,
  ]
    .filter(Boolean)
    .join("\n")}\n`;
}

function notes(results) {
  const ratio = namesOf(results).includes("portkey") && results.samples[0]?.json;
  const times = ratio && summary(results.samples.map((s) => s.json.portkey.us / s.json.sluicegate.us));
  return `${times ? `Portkey takes ${times.median.toFixed(0)} times the CPU of Sluicegate for a 1.5 KB request.\n\n` : ""}Each proxy has one core and is the only one under load; load generator and upstream have the other core. CPU is that of the
whole process, all threads. Sluicegate authenticates, routes over two deployments, prices, writes a ledger row to SQLite and an
access log line. nginx only passes bytes on. "Bare node" is what node:http, a client of our kind and parsing both bodies
take, and nothing else ([bare-proxy.mjs](bare-proxy.mjs)): it says how a machine takes to node, next to nginx.
Portkey runs as its package starts it, without a ledger.

A ratio is taken within a round, the median is over
the rounds; figures move 10–20 % with the neighbours, so compare ratios, not microseconds. Added latency is a
percentile through the proxy less the same percentile straight to the upstream, sampled alternately.${
    results.memory
      ? " RSS is the larger one\nof a process that has served the rounds and one that has just started."
      : ""
  }
${storeNote(results)}
Again: \`npm run build && npm run bench\` (Linux, two cores, nginx: \`apt-get install nginx-light\`). What the options do:
[README.md](README.md).
`;
}

/** What the row of the shared store says, and what it does not. */
function storeNote({ store }) {
  if (!store) return "";
  const { json, stream, keyed, together } = store;
  const pieces = [together.writes, together.reads].map((count) => count.toFixed(2));
  return `
Round trips to the shared store are all that the gateway makes for a request, with requests, tokens and concurrency of the
provider and its deployment limited, at concurrency 1, as a relay before a Redis and that Redis count them; without the
gateway's own, ${store.idle.toFixed(1)} a second. Of ${json.trips.toFixed(2)} for JSON the request waits for ${json.waited}, of ${stream.trips.toFixed(2)} for a stream for ${stream.waited}. With an
\`idempotency-key\`: ${keyed.trips.toFixed(2)}, of which it waits for ${keyed.waited}. Requests at concurrency ${together.connections} share them: ${together.trips.toFixed(2)} a request, which the
gateway sends in ${pieces[0]} pieces and Redis reads in ${pieces[1]}.
`;
}

function namesOf({ samples, memory }) {
  const measured = Object.values(samples[0] ?? {})[0] ?? memory ?? {};
  return Object.keys(NAMES).filter((name) => measured[name]);
}

function spread({ median, low, high, count }, { kind, part }) {
  const digits = kind === "rss" ? 0 : kind === "growth" ? 1 : part ? 3 : 2;
  const text = median.toFixed(digits);
  return count > 1 ? `${text} (${low.toFixed(digits)}–${high.toFixed(digits)})` : text;
}

/** A Markdown table as the formatter wants it: columns padded, all but the first to the right. */
function table(head, rows) {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(3, ...cells.map((row) => row[i].length)));
  const rule = widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  const padded = cells.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))),
  );
  return `${[padded[0], rule, ...padded.slice(1)].map((row) => `| ${row.join(" | ")} |`).join("\n")}\n`;
}

function minuteOf(time) {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ");
}

function number(n) {
  return n.toLocaleString("en");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const results = JSON.parse(readFileSync(join(here, ".work", "last-run"), "utf8"));
  process.stdout.write(writeReport(results, process.argv[2] ?? RESULTS, { soaked: true }));
}
