// One measurement of one proxy each. All of them check that the upstream saw exactly what the clients sent.
import { truncateSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  answerBody,
  chatBody,
  LARGE_BODY_BYTES,
  SMALL_BODY_BYTES,
  streamBody,
  streamEvents,
  translatedBody,
  translatedEvents,
} from "./payloads.mjs";
import { coreMs, cpuNs, mainThreadNs, memoryMb, PROXY_CORE, settled } from "./process.mjs";

const HELD_EVENTS = 3_000;
const HELD_INTERVAL_MS = 250;

/** The kinds of measurement, in the order in which a round makes them. */
export const KINDS = ["json", "large", "stream", "translated", "latency", "rss"];

/** Whether a target takes part in a kind of measurement. */
export function takesPart({ name, streamPath }, kind) {
  if (name === "portkey") return kind !== "translated";
  return streamPath !== null || kind === "json" || kind === "large";
}

/** A target with the request it gets in one kind of measurement. */
function withBody(target, kind, sizes) {
  if (kind === "stream") {
    const body = streamBody(sizes.streamEvents, sizes.streamIntervalMs);
    return { ...wire(target), path: target.streamPath, body };
  }
  // nginx cannot translate: it passes the same stream on as it is.
  if (kind === "translated" && target.translatedPath) {
    const body = translatedBody(sizes.streamEvents, sizes.streamIntervalMs);
    return { ...wire(target), path: target.translatedPath, body, expected: translatedEvents(sizes.streamEvents) };
  }
  if (kind === "translated") return withBody(target, "stream", sizes);
  if (kind === "rss")
    return { ...wire(target), path: target.streamPath, body: streamBody(HELD_EVENTS, HELD_INTERVAL_MS) };
  return { ...wire(target), body: chatBody(kind === "large" ? LARGE_BODY_BYTES : SMALL_BODY_BYTES) };
}

/** What of a target can be sent to the load generator. */
function wire({ port, path, headers }) {
  return { port, path, headers };
}

/** Asks a target once for JSON and once for a stream, and compares both with what the upstream says. */
export async function check(rig, target) {
  const json = await rig.load("probe", { target: withBody(target, "json") });
  const failure = (what, answer) =>
    new Error(`${target.name}: ${what}: status ${answer.status}: ${answer.body.slice(0, 500)}`);
  if (json.status !== 200) throw failure("no answer", json);
  const wanted = JSON.parse(answerBody());
  const got = JSON.parse(json.body);
  if (got.choices?.[0]?.message?.content !== wanted.choices[0].message.content) throw failure("another answer", json);
  if (got.usage?.total_tokens !== wanted.usage.total_tokens) throw failure("another usage", json);
  if (target.streamPath === null) return;
  const stream = await rig.load("probe", {
    target: { ...wire(target), path: target.streamPath, body: streamBody(10, 2) },
  });
  if (stream.status !== 200) throw failure("no stream", stream);
  const events = (text) => text.split("\n\n").filter((event) => event.startsWith("data: "));
  if (events(stream.body).length !== 10 || !stream.body.endsWith("data: [DONE]\n\n"))
    throw failure("another stream", stream);
  const words = (text) =>
    events(text)
      .map((event) => /"content":"[^"]*"/.exec(event)?.[0])
      .join();
  if (words(stream.body) !== words(streamEvents(10).join(""))) throw failure("other words in the stream", stream);
}

/** CPU per request in µs, for JSON requests of either size. */
export function measureJson(rig, target, kind, sizes) {
  const requests = sizes.requests[kind][target.name] ?? sizes.requests[kind].default;
  return window(rig, target, requests, async () => {
    const options = { target: withBody(target, kind), requests, connections: sizes.connections };
    return (await rig.load("json", options)).seconds;
  });
}

/** CPU per paced stream event in µs. The request around the events is part of it. */
export function measureStream(rig, target, kind, sizes) {
  const { streams, streamEvents: events } = sizes;
  return window(
    rig,
    target,
    streams,
    async () => (await rig.load("stream", { target: withBody(target, kind, sizes), streams, events })).seconds,
    events,
  );
}

/** Milliseconds through the proxy and straight to the upstream, one request at a time, alternately. */
export async function measureLatency(rig, target, direct, sizes) {
  const samples = sizes.samples[target.name] ?? sizes.samples.default;
  await settled(target.pids());
  const [straight, through] = await rig.load("latency", {
    targets: [withBody(direct, "json"), withBody(target, "json")],
    samples,
  });
  return { p50: through.p50 - straight.p50, p99: through.p99 - straight.p99, through, straight };
}

/** Memory of a proxy in MB: before, and with `streams` streams that all run. */
export async function measureMemory(rig, target, sizes) {
  const pids = target.pids();
  await settled(pids);
  const idle = memoryMb(pids).rss;
  await rig.load("hold", { target: withBody(target, "rss"), streams: sizes.heldStreams });
  await untilAllRun(rig, target);
  const readings = [];
  for (let second = 0; second < sizes.heldSeconds; second++) {
    await sleep(1_000);
    readings.push(memoryMb(pids).rss);
  }
  await untilAllRun(rig, target);
  const open = (await rig.counts()).openStreams;
  if (open !== sizes.heldStreams)
    throw new Error(`${target.name}: ${open} streams at the upstream, not ${sizes.heldStreams}`);
  await rig.load("drop");
  return { idle, rss: Math.max(...readings.slice(-5)), peak: memoryMb(pids).peak, left: await leftRunning(rig) };
}

/** Waits until each of the held streams has had three more events. */
async function untilAllRun(rig, target) {
  const start = await rig.load("held");
  for (let tries = 0; tries < 900; tries++) {
    const { slowest, ended, failure } = await rig.load("held");
    if (ended > 0) throw new Error(`${target.name}: ${ended} of the held streams ended: ${failure}`);
    if (slowest >= start.slowest + 3) return;
    await sleep(100);
  }
  throw new Error(`${target.name}: a held stream stands still for 90 s`);
}

/** A client that goes away should end the call upstream: how many still run there ten seconds later. */
async function leftRunning(rig) {
  let left = 0;
  for (let tries = 0; tries < 100; tries++) {
    left = (await rig.counts()).openStreams;
    if (left === 0) return 0;
    await sleep(100);
  }
  return left;
}

/** CPU of the proxy over `work`, divided by what was done; with how busy its core was, and what others took of it. */
async function window(rig, target, requests, work, each = 1) {
  const pids = target.pids();
  await settled(pids);
  const seenBefore = (await rig.counts()).requests;
  const coreBefore = coreMs();
  const cpuBefore = cpuNs(pids);
  const mainBefore = mainThreadNs(pids[0]);
  const startedAt = performance.now();
  const seconds = await work();
  const coreAfter = coreMs();
  const wallMs = performance.now() - startedAt;
  const cpuDuringMs = (cpuNs(pids) - cpuBefore) / 1e6;
  await settled(pids);
  const cpu = cpuNs(pids) - cpuBefore;
  const seen = (await rig.counts()).requests - seenBefore;
  if (seen !== requests) throw new Error(`${target.name}: ${requests} requests sent, ${seen} seen by the upstream`);
  if (cpu <= 0) throw new Error(`${target.name}: no CPU time could be read`);
  if (target.name !== "nginx") truncateSync(target.log, 0);
  const busyMs = coreAfter[PROXY_CORE].busy - coreBefore[PROXY_CORE].busy;
  const stealMs = coreAfter[PROXY_CORE].steal - coreBefore[PROXY_CORE].steal;
  return {
    us: cpu / 1_000 / (requests * each),
    mainUs: (mainThreadNs(pids[0]) - mainBefore) / 1_000 / (requests * each),
    perSecond: (requests * each) / seconds,
    busy: cpuDuringMs / wallMs,
    others: Math.max(0, busyMs + stealMs - cpuDuringMs) / wallMs,
  };
}
