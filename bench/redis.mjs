// A Redis of the benchmark's own, what it says of itself, and a relay before it that counts.
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LOAD_CORE, start, untilReady } from "./process.mjs";
import { freePort, listens } from "./targets.mjs";

/** Where `redis-server` is; undefined: not here. */
export function redisCommand() {
  return (process.env.PATH ?? "")
    .split(":")
    .map((dir) => join(dir, "redis-server"))
    .find(existsSync);
}

/** Starts it on loopback. It writes nothing to disk. */
export async function startRedis(folder) {
  const port = await freePort();
  const own = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  const log = join(folder, "redis.log");
  const child = start({ name: "redis-server", core: LOAD_CORE, command: redisCommand(), args: own, log });
  await untilReady(child, () => listens(port));
  return { child, port, log };
}

/** Asks a Redis what it has done so far: scripts it was sent, and how often it read from its clients, but for this one. */
export async function openInfo(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let asked = 0;
  const ask = () =>
    new Promise((resolve, reject) => {
      let text = "";
      const onData = (data) => {
        text += data.latin1Slice();
        const length = Number(/^\$(\d+)\r\n/.exec(text)?.[1] ?? Number.NaN);
        if (!(text.length >= `$${length}\r\n`.length + length + 2)) return;
        socket.off("data", onData).off("error", reject);
        resolve(text);
      };
      socket.on("data", onData);
      socket.once("error", reject);
      socket.write("INFO everything\r\n");
      asked += 1;
    });
  return {
    async read() {
      const text = await ask();
      const field = (pattern) => Number(pattern.exec(text)?.[1] ?? 0);
      const calls = (name) => field(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, "m"));
      return {
        reads: field(/^total_reads_processed:(\d+)/m) - asked,
        scripts: calls("evalsha") + calls("eval"),
      };
    },
    close: () => socket.destroy(),
  };
}

/**
 * Passes on what comes, answers after `delayMs` if need be, and counts what the gateway sends: `commands`, by name and first
 * argument (of a script: which one it is), and the pieces they came in, `writes`.
 */
export async function openRelay(redisPort) {
  const relay = { port: 0, commands: new Map(), writes: 0, delayMs: 0, close: () => server.close() };
  const server = createServer({ noDelay: true }, (gateway) => {
    const redis = connect({ port: redisPort, host: "127.0.0.1", noDelay: true });
    const read = commandReader((name) => relay.commands.set(name, (relay.commands.get(name) ?? 0) + 1));
    gateway.on("data", (data) => {
      relay.writes += 1;
      read(data);
      redis.write(data);
    });
    // Answers keep their order, also when the delay has just become less.
    let passed = Promise.resolve();
    redis.on("data", (data) => {
      const due = performance.now() + relay.delayMs;
      passed = passed.then(async () => {
        const ms = due - performance.now();
        if (ms > 0) await sleep(ms);
        gateway.write(data);
      });
    });
    for (const [one, other] of [
      [gateway, redis],
      [redis, gateway],
    ]) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  relay.port = server.address().port;
  return relay;
}

/** Reads commands, however they are cut: arrays (`*2`) of strings that have their length before them (`$3`). */
function commandReader(onCommand) {
  let line = "";
  let text = null;
  let skip = 0;
  let left = 0;
  let words = [];
  return (data) => {
    for (let at = 0; at < data.length; ) {
      if (text !== null) {
        const taken = Math.min(skip, data.length - at);
        if (words.length < 2) text += data.latin1Slice(at, at + taken);
        skip -= taken;
        at += taken;
        if (skip > 0) break;
        if (words.length < 2) words.push(text.slice(0, -2).toLowerCase());
        text = null;
        if (--left === 0) onCommand(words.join(" "));
        continue;
      }
      const stop = data.indexOf(10, at);
      line += data.latin1Slice(at, stop < 0 ? data.length : stop);
      if (stop < 0) break;
      const size = Number.parseInt(line.slice(1), 10);
      if (line[0] === "*") [left, words] = [size, []];
      else [skip, text] = [size + 2, ""];
      line = "";
      at = stop + 1;
    }
  };
}
