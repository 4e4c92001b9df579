// The load generator, a child process of run.mjs that is told what to do over IPC. Everything it does is bounded in count
// and in time, and whatever is not the expected answer fails the run.
import { Connection, requestBytes } from "./connection.mjs";
import { ADDED_BYTES_MAX, ANSWER_BYTES } from "./payloads.mjs";
import { percentile } from "./statistics.mjs";

const RUN_MS_MAX = 180_000;
const LATENCY_DISCARDED = 50;

/** Streams that are held open between two commands. */
let held = null;

const commands = { probe, json, stream, latency, hold, held: heldState, drop };

process.on("message", async ({ id, command, options }) => {
  try {
    process.send({ id, result: await commands[command](options) });
  } catch (error) {
    process.send({ id, error: error.message });
  }
});
process.on("disconnect", () => process.exit(0));

/** One request; the whole answer as text. */
async function probe({ target }) {
  const connection = await Connection.open(target.port);
  const pieces = [];
  const keep = (bytes, from, to) => pieces.push(Buffer.from(bytes.subarray(from, to)));
  try {
    const status = await within(RUN_MS_MAX, (resolve, reject) =>
      connection.send(requestBytes(target), (error, code) => (error ? reject(error) : resolve(code)), keep),
    );
    return { status, body: Buffer.concat(pieces).toString() };
  } finally {
    connection.close();
  }
}

/** `requests` requests over `connections` connections. */
async function json({ target, requests, connections }) {
  const bytes = requestBytes(target);
  const open = await openAll(target.port, connections);
  const startedAt = performance.now();
  try {
    await within(RUN_MS_MAX, (resolve, reject) => {
      let sent = 0;
      let answered = 0;
      const next = (connection) => {
        sent += 1;
        connection.send(bytes, (error, status, length) => {
          if (error) return reject(error);
          if (!isAnswer(status, length)) return reject(unexpected(status, length));
          answered += 1;
          if (answered === requests) resolve();
          else if (sent < requests) next(connection);
        });
      };
      for (const connection of open.slice(0, requests)) next(connection);
    });
  } finally {
    for (const connection of open) connection.close();
  }
  return { requests, seconds: (performance.now() - startedAt) / 1_000 };
}

/** `streams` streams at once, each of `events` events. */
async function stream({ target, streams, events }) {
  const bytes = requestBytes(target);
  const open = await openAll(target.port, streams);
  const startedAt = performance.now();
  try {
    await Promise.all(open.map((connection) => oneStream(connection, bytes, target.expected ?? events)));
  } finally {
    for (const connection of open) connection.close();
  }
  return { events: streams * events, seconds: (performance.now() - startedAt) / 1_000 };
}

function oneStream(connection, bytes, events) {
  const counter = eventCounter();
  return within(RUN_MS_MAX, (resolve, reject) => {
    const done = (error, status) => {
      if (error) reject(error);
      else if (status !== 200) reject(new Error(`status ${status}`));
      else if (counter.events !== events) reject(new Error(`${counter.events} events came instead of ${events}`));
      else resolve();
    };
    connection.send(bytes, done, counter.count);
  });
}

/** Single requests, alternately to each target. Milliseconds: p50 and p99 of each. */
async function latency({ targets, samples }) {
  const sides = [];
  try {
    for (const target of targets) {
      const connection = await Connection.open(target.port);
      sides.push({ connection, bytes: requestBytes(target), times: [] });
    }
    for (let i = 0; i < samples + LATENCY_DISCARDED; i++) {
      const turn = i % 2 === 0 ? sides : sides.toReversed();
      for (const side of turn) {
        const ms = await timeOne(side);
        if (i >= LATENCY_DISCARDED) side.times.push(ms);
      }
    }
  } finally {
    for (const { connection } of sides) connection.close();
  }
  return sides.map(({ times }) => ({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) }));
}

function timeOne({ connection, bytes }) {
  return within(10_000, (resolve, reject) => {
    const startedAt = performance.now();
    connection.send(bytes, (error, status, length) => {
      const ms = performance.now() - startedAt;
      if (error) reject(error);
      else if (!isAnswer(status, length)) reject(unexpected(status, length));
      else resolve(ms);
    });
  });
}

/** Opens streams and leaves them running. */
async function hold({ target, streams }) {
  const bytes = requestBytes(target);
  const connections = await openAll(target.port, streams);
  held = { connections, counters: [], ended: 0, failure: null };
  for (const connection of connections) {
    const counter = eventCounter();
    held.counters.push(counter);
    const done = (error, status) => {
      held.ended += 1;
      held.failure ??= error?.message ?? `ended with status ${status}`;
    };
    connection.send(bytes, done, counter.count);
  }
}

/** How the held streams do: events of the slowest one, of all, and how many have ended. */
function heldState() {
  const events = held.counters.map((counter) => counter.events);
  return {
    slowest: Math.min(...events),
    total: events.reduce((sum, n) => sum + n, 0),
    ended: held.ended,
    failure: held.failure,
  };
}

function drop() {
  for (const connection of held.connections) connection.close();
  held = null;
}

/** Counts SSE events by their empty lines, wherever the bytes are split. */
function eventCounter() {
  const counter = {
    events: 0,
    last: 0,
    count(bytes, from, to) {
      let { last } = counter;
      for (let i = from; i < to; i++) {
        const byte = bytes[i];
        if (byte === 10 && last === 10) counter.events += 1;
        last = byte;
      }
      counter.last = last;
    },
  };
  return counter;
}

/** Connections in small groups, so that no listen queue overflows. */
async function openAll(port, count) {
  const connections = [];
  try {
    while (connections.length < count) {
      const group = Math.min(50, count - connections.length);
      connections.push(...(await Promise.all(Array.from({ length: group }, () => Connection.open(port)))));
    }
  } catch (error) {
    for (const connection of connections) connection.close();
    throw error;
  }
  return connections;
}

function within(ms, run) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not done within ${ms} ms`)), ms);
    const settle = (how) => (value) => {
      clearTimeout(timer);
      how(value);
    };
    run(settle(resolve), settle(reject));
  });
}

function isAnswer(status, length) {
  return status === 200 && length >= ANSWER_BYTES && length <= ANSWER_BYTES + ADDED_BYTES_MAX;
}

function unexpected(status, length) {
  return new Error(`status ${status} with ${length} bytes instead of 200 with about ${ANSWER_BYTES}`);
}
