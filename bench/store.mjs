// How often the gateway goes to a shared store for a request: counted before a real Redis, and by that Redis itself.
import { setTimeout as sleep } from "node:timers/promises";
import { Connection, requestBytes } from "./connection.mjs";
import { check } from "./measure.mjs";
import { chatBody, SMALL_BODY_BYTES, streamBody } from "./payloads.mjs";
import { end, settled } from "./process.mjs";
import { openInfo, openRelay, startRedis } from "./redis.mjs";
import { percentile } from "./statistics.mjs";
import { startSluicegate } from "./targets.mjs";

const IDLE_MS = 8_000;
const WARM_UP = 200;
const REQUESTS = { json: 1_000, stream: 300, keyed: 1_000 };
/** What the store's answers are held up by, to see who waits for them; the gateway's patience is 50 ms. */
const DELAY_MS = 20;
const DELAYED = 25;
const STREAM_EVENTS = 10;
const STREAM_INTERVAL_MS = 1;
const CONNECTIONS = 32;
const REQUESTS_TOGETHER = 10_000;
/** How often a count is made, when it fails for a store that was late. */
const TRIES = 5;

/** Requests of each kind, one of them at a time by its number. The last has an Idempotency-Key. */
const KINDS = {
  json: ({ port, path, headers }) => repeated({ port, path, headers, body: chatBody(SMALL_BODY_BYTES) }),
  stream: ({ port, path, headers }) =>
    repeated({ port, path, headers, body: streamBody(STREAM_EVENTS, STREAM_INTERVAL_MS) }),
  keyed: ({ port, path, headers }) => {
    const body = chatBody(SMALL_BODY_BYTES);
    return () => requestBytes({ port, path, headers: { ...headers, "idempotency-key": `bench-${++keys}` }, body });
  },
};
let keys = 0;

/**
 * Round trips to the store a request: `trips`, commands that were sent and answered; `waited`, those of them that the request
 * waits for; `writes` and `reads`, the pieces in which they were sent and in which the store read them: fewer, where
 * commands were pipelined. `idle`: commands a second without requests.
 */
export async function measureStore(rig, main) {
  const redis = await startRedis(rig.folder);
  const relay = await openRelay(redis.port);
  const info = await openInfo(redis.port);
  const { upstreamPort, folder } = rig;
  const store = `redis://127.0.0.1:${relay.port}`;
  const target = await startSluicegate({ upstreamPort, folder, main, name: "sluicegate-store", store });
  await check(rig, target);
  await requests(target, KINDS.json(target), WARM_UP, 1);
  const site = { rig, target, relay, info };
  const { commands, seconds } = await over(site, () => sleep(IDLE_MS));
  site.idle = new Map([...commands].map(([name, count]) => [name, count / seconds]));
  const result = { idle: total(site.idle) };
  for (const [kind, make] of Object.entries(KINDS)) {
    result[kind] = {
      ...(await count(site, make(target), REQUESTS[kind], 1)),
      waited: await waited(site, make(target)),
    };
  }
  const together = await count(site, KINDS.json(target), REQUESTS_TOGETHER, CONNECTIONS);
  result.together = { ...together, connections: CONNECTIONS };
  await end(target.child);
  info.close();
  relay.close();
  await end(redis.child);
  return result;
}

/** What requests do at the store, each. Again, when it was late for one of them: that one did without it. */
async function count(site, next, requestCount, connections) {
  for (let tries = 0; tries < TRIES; tries++) {
    const done = await over(site, () => requests(site.target, next, requestCount, connections));
    if (done.seen !== requestCount)
      throw new Error(`store: ${requestCount} requests sent, ${done.seen} seen by the upstream`);
    if (total(done.commands) !== done.scripts)
      throw new Error(`store: ${total(done.commands)} commands on their way to Redis, ${done.scripts} scripts in it`);
    if (Math.max(0, ...done.commands.values()) < requestCount) continue;
    const own = ownOf(done, site.idle);
    const each = (value) => Math.round(((value - own) / requestCount) * 100) / 100;
    return { trips: each(total(done.commands)), writes: each(done.writes), reads: each(done.reads) };
  }
  throw new Error(`store: of ${requestCount} requests some were not asked for at the store, ${TRIES} times`);
}

/** How many of the commands were the gateway's own: of those it also sends without requests, as many as it sends in that time. */
function ownOf({ commands, seconds }, idle) {
  const own = (name, count) => (idle.has(name) ? Math.min(count, Math.ceil(idle.get(name) * seconds) + 1) : 0);
  return [...commands].reduce((sum, [name, count]) => sum + own(name, count), 0);
}

/** Counts over `work` and what it leaves to be done after it. */
async function over({ rig, relay, info, target }, work) {
  const now = async () => {
    await settled(target.pids());
    const { requests: seen } = await rig.counts();
    return {
      at: performance.now(),
      seen,
      writes: relay.writes,
      commands: new Map(relay.commands),
      ...(await info.read()),
    };
  };
  const before = await now();
  await work();
  const after = await now();
  const more = (name) => after[name] - before[name];
  const commands = [...after.commands].map(([name, count]) => [name, count - (before.commands.get(name) ?? 0)]);
  return {
    seconds: more("at") / 1_000,
    seen: more("seen"),
    writes: more("writes"),
    reads: more("reads"),
    scripts: more("scripts"),
    commands: new Map(commands.filter(([, count]) => count > 0)),
  };
}

function total(counts) {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** How many of its round trips a request waits for: how much later it is answered when the store is. */
async function waited({ target, relay }, next) {
  const times = new Map([0, DELAY_MS].map((delayMs) => [delayMs, []]));
  for (let i = 0; i < DELAYED; i++) {
    for (const [delayMs, taken] of times) {
      relay.delayMs = delayMs;
      taken.push(...(await requests(target, next, 1, 1)));
      // What the request has left behind is answered before the next one.
      await sleep(2 * DELAY_MS);
    }
  }
  relay.delayMs = 0;
  // What else takes time only adds to it.
  const [at, late] = [...times.values()].map((taken) => percentile(taken, 0.1));
  return Math.round((late - at) / DELAY_MS);
}

/** Sends requests, on each connection one after the other; how long each took, ms. */
async function requests(target, next, requestCount, connections) {
  const times = [];
  let left = requestCount;
  const one = async () => {
    const connection = await Connection.open(target.port);
    try {
      while (left-- > 0) times.push(await ask(connection, next()));
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  return times;
}

function ask(connection, bytes) {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    connection.send(bytes, (error, status) => {
      if (error) reject(error);
      else if (status !== 200) reject(new Error(`store: status ${status}`));
      else resolve(performance.now() - startedAt);
    });
  });
}

function repeated(request) {
  const bytes = requestBytes(request);
  return () => bytes;
}
