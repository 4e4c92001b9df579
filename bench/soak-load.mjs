// The load of `npm run soak`: requests at a steady rate, whatever the gateway does; anything unexpected fails the run.
import { Connection } from "./connection.mjs";
import { kindAt, MIX, soakBytes } from "./soak-requests.mjs";

const TICK_MS = 10;
const OPEN_MAX = 1_000;
const LATE_MS = 30_000;
const SAID_MAX = 400;

/** Sends the mix at `rate` requests a second to a port of 127.0.0.1. */
export class SoakLoad {
  /** By kind: how many were sent, and how many came to the end that is expected. */
  counts = Object.fromEntries(MIX.map(({ name }) => [name, { sent: 0, done: 0 }]));
  #port;
  #rate;
  #free = [];
  #open = new Set();
  #timer = null;
  #failure = null;
  #picked = 0;

  constructor(port, rate) {
    this.#port = port;
    this.#rate = rate;
  }

  start() {
    const startedAt = performance.now();
    let sent = 0;
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * this.#rate);
      // After a pause of the machine's the rate goes on; what was missed is not sent at once.
      if (due - sent > this.#rate) sent = due - this.#rate;
      for (; sent < due && this.#open.size < OPEN_MAX; sent++) this.#one().catch((error) => this.#fail(error));
    }, TICK_MS);
  }

  /** Throws what went wrong so far. */
  check() {
    const now = performance.now();
    for (const { kind, since } of this.#open) {
      if (now - since > LATE_MS) this.#fail(new Error(`${kind.name}: no end after ${LATE_MS / 1_000} s`));
    }
    if (this.#failure) throw this.#failure;
  }

  /** Sends no more, and waits for what is out. */
  async stop() {
    clearInterval(this.#timer);
    while (this.#open.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      this.check();
    }
    for (const connection of this.#free) connection.close();
  }

  totals() {
    const all = Object.values(this.counts);
    return { sent: all.reduce((n, it) => n + it.sent, 0), answered: all.reduce((n, it) => n + it.done, 0) };
  }

  /** What the ledger lacks, or has too much of; of requests whose client hung up at once nobody knows whether they came. */
  rowsMissing(rows) {
    const wanted = {};
    for (const { name, row } of MIX) if (row) wanted[row] = (wanted[row] ?? 0) + this.counts[name].sent;
    return Object.entries(wanted)
      .filter(([alias, count]) => rows[alias] !== count)
      .map(([alias, count]) => `${count} requests to ${alias}, ${rows[alias] ?? 0} rows`);
  }

  async #one() {
    // 37 and 100 have no common divisor: all kinds in turn, well mixed.
    const kind = kindAt((this.#picked++ * 37) % 100);
    const count = this.counts[kind.name];
    const call = { kind, since: performance.now() };
    this.#open.add(call);
    const bytes = soakBytes(this.#port, kind, count.sent);
    count.sent += 1;
    try {
      const connection = this.#free.shift() ?? (await Connection.open(this.#port));
      if (kind.leaveAfter === undefined) {
        await whole(connection, bytes, kind);
        this.#free.push(connection);
      } else await untilLeft(connection, bytes, kind.leaveAfter);
      count.done += 1;
    } finally {
      this.#open.delete(call);
    }
  }

  #fail(error) {
    this.#failure ??= error;
  }
}

/** Sends a request and reads its answer; rejects for a status that is not expected, with the start of what was said. */
function whole(connection, bytes, { name, status: expected }) {
  return new Promise((resolve, reject) => {
    let said = "";
    const onBody = (body, from, to) => {
      if (said.length < SAID_MAX) said += body.latin1Slice(from, Math.min(to, from + SAID_MAX));
    };
    const done = (error, status) => {
      if (error) reject(new Error(`${name}: ${error.message}`));
      else if ([expected].flat().includes(status)) resolve();
      else reject(new Error(`${name}: status ${status}: ${said}`));
    };
    connection.send(bytes, done, onBody);
  });
}

/** Sends a request and hangs up when so many bytes of the body have come. */
function untilLeft(connection, bytes, leaveAfter) {
  return new Promise((resolve, reject) => {
    let seen = 0;
    const leave = () => {
      connection.close();
      resolve();
    };
    const onBody = (_, from, to) => {
      seen += to - from;
      if (seen >= leaveAfter) leave();
    };
    connection.send(bytes, (error) => (error ? reject(error) : leave()), onBody);
    if (leaveAfter === 0) setImmediate(leave);
  });
}
