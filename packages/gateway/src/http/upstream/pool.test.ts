import { createServer } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { post, type Recorded, type RecordingSink, record, recordToEnd } from "../../../test/support/recording-sink.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "../../../test/support/tcp-upstream.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { UpstreamRequest } from "../../core/transport.ts";
import { Pool } from "./pool.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

let clock: VirtualClock;
const closers: (() => unknown)[] = [];

beforeEach(() => {
  clock = new VirtualClock();
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A server whose answers a test gives one by one, and a pool to it. */
interface Setup {
  server: TcpUpstream;
  pool: Pool;
  /** Requests that have come and have no answer yet: their paths and how to answer. */
  asked: { path: string; peer: Peer; answer(bytes?: string): void }[];
  /** Resolves once so many requests have come, answered or not. */
  came(count: number): Promise<void>;
  send(path?: string): Recorded;
}

async function setup(connections: number, change: Partial<UpstreamRequest> = {}): Promise<Setup> {
  const asked: Setup["asked"] = [];
  let count = 0;
  let wake = (): void => {};
  const server = await startTcpUpstream(async (peer) => {
    for (let got = await peer.request(); got; got = await peer.request()) {
      const path = /^\S+ (\S+)/.exec(got.head)?.[1] ?? "";
      await new Promise<void>((resolve) => {
        const entry = {
          path,
          peer,
          answer(bytes = OK) {
            asked.splice(asked.indexOf(entry), 1);
            peer.socket.write(bytes);
            resolve();
          },
        };
        asked.push(entry);
        count++;
        wake();
      });
    }
  });
  closers.push(() => server.close());
  const pool = poolTo(server.port, connections, change);
  return {
    server,
    pool,
    asked,
    async came(wanted) {
      while (count < wanted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
    send: (path = "/") => record(pool, post(server.port, { path })),
  };
}

function poolTo(port: number | string, connections = 1, change: Partial<UpstreamRequest> = {}): Pool {
  const pool = new Pool(post(port, change, { connections }), clock);
  closers.push(() => pool.destroy());
  return pool;
}

/** A few turns of the event loop: what could have happened, has. */
async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

/** Serves a call that is over at once. */
async function once({ send, asked, came }: Setup, count: number, bytes?: string): Promise<RecordingSink> {
  const { sink } = send();
  await came(count);
  asked[0]?.answer(bytes);
  await sink.over;
  return sink;
}

describe("the line", () => {
  it("holds what goes over the connections there may be, and serves it in its order", async () => {
    const { send, asked, came, server } = await setup(2);
    const calls = Array.from({ length: 7 }, (_, i) => send(`/${i}`));
    const served: string[] = [];
    for (let i = 0; i < 7; i++) {
      await came(Math.min(7, i + 2));
      await turns();
      expect(asked.length).toBeLessThanOrEqual(2);
      served.push(asked[0]?.path ?? "");
      asked[0]?.answer();
      await calls[Number(served[i]?.slice(1))]?.sink.over;
    }
    // The first two go out together, each on a connection of its own.
    expect([...served.slice(0, 2).sort(), ...served.slice(2)]).toEqual(["/0", "/1", "/2", "/3", "/4", "/5", "/6"]);
    expect(server.peers).toHaveLength(2);
    for (const { sink } of calls) expect(sink).toMatchObject({ text: "ok", breaches: [] });
  });

  it("is left by a call that is aborted: it is never sent, and those behind it move up", async () => {
    const { send, asked, came, server } = await setup(1);
    const [first, second, third] = [send("/1"), send("/2"), send("/3")];
    await came(1);
    second?.abort();
    asked[0]?.answer();
    await came(2);
    expect(asked[0]?.path).toBe("/3");
    asked[0]?.answer();
    await third?.sink.over;
    await turns();
    expect(second?.sink).toMatchObject({ log: [], breaches: [] });
    expect(first?.sink.text).toBe("ok");
    expect(server.peers).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  it("is served by a new connection when a running one is aborted, or breaks", async () => {
    const { send, asked, came, server } = await setup(1);
    const [first, second, third] = [send("/1"), send("/2"), send("/3")];
    await came(1);
    first?.abort();
    await server.peers[0]?.ended;
    await came(2);
    expect(server.peers).toHaveLength(2);
    asked.find(({ path }) => path === "/2")?.peer.socket.resetAndDestroy();
    await second?.sink.over;
    await came(3);
    asked.find(({ path }) => path === "/3")?.answer();
    await third?.sink.over;
    expect([first, second, third].map((call) => call?.sink.kind)).toEqual([null, "reset", null]);
    expect(server.peers).toHaveLength(3);
  });

  it("may be joined, and left, from within a sink", async () => {
    const { send, asked, came, server } = await setup(1);
    const first = send("/1");
    let second: Recorded | undefined;
    let third: Recorded | undefined;
    first.sink.onEvent = (event) => {
      if (event !== "end") return;
      second = send("/2");
      third = send("/3");
      third.abort();
    };
    await came(1);
    asked[0]?.answer();
    await came(2);
    expect(asked.map(({ path }) => path)).toEqual(["/2"]);
    asked[0]?.answer();
    await second?.sink.over;
    expect(second?.sink.breaches).toEqual([]);
    expect(third?.sink.log).toEqual([]);
    expect(server.peers).toHaveLength(1);
  });
});

describe("an idle connection", () => {
  it("is the one used last", async () => {
    const setting = await setup(3);
    const { send, asked, came, server } = setting;
    const calls = [send(), send(), send()];
    await came(3);
    const last = asked[1]?.peer;
    for (const entry of [asked[0], asked[2], asked[1]]) {
      entry?.answer();
      await turns(3);
    }
    for (const { sink } of calls) await sink.over;
    for (let i = 4; i < 7; i++) {
      const { sink } = send();
      await came(i);
      expect(asked[0]?.peer).toBe(last);
      asked[0]?.answer();
      await sink.over;
    }
    expect(server.peers).toHaveLength(3);
  });

  it.each<[string, string, number, number]>([
    ["nothing", "", 3_999, 4_001],
    ["10 s", "keep-alive: timeout=10\r\n", 8_999, 9_001],
    ["10 s, among more", "Keep-Alive: max=5, timeout=10\r\n", 8_999, 9_001],
    ["a year", "keep-alive: timeout=31536000\r\n", 299_999, 300_001],
    ["more than a number holds", `keep-alive: timeout=${"9".repeat(400)}\r\n`, 299_999, 300_001],
    ["what is no time", "keep-alive: timeout=soon\r\n", 3_999, 4_001],
    ["what is no timeout", "keep-alive: xtimeout=90\r\n", 3_999, 4_001],
  ])("is used within its time, and closed after it, where the upstream says %s", async (_says, line, within, after) => {
    const setting = await setup(1);
    const { server } = setting;
    const bytes = `HTTP/1.1 200 OK\r\n${line}content-length: 2\r\n\r\nok`;
    await once(setting, 1, bytes);
    clock.advance(within);
    await turns();
    await once(setting, 2, bytes);
    expect(server.peers).toHaveLength(1);
    clock.advance(after);
    // Nobody has to ask for it.
    await server.peers[0]?.ended;
    await once(setting, 3, bytes);
    expect(server.peers).toHaveLength(2);
  });

  it.each([0, 1])("is not used again where the upstream keeps it for %i s only", async (seconds) => {
    const setting = await setup(1);
    for (let i = 1; i <= 2; i++)
      await once(setting, i, `HTTP/1.1 200 OK\r\nkeep-alive: timeout=${seconds}\r\ncontent-length: 2\r\n\r\nok`);
    expect(setting.server.peers).toHaveLength(2);
  });

  it("that a burst left behind is closed in its time, though another is used all along", async () => {
    const setting = await setup(5);
    const { send, asked, came, server, pool } = setting;
    const calls = Array.from({ length: 5 }, () => send());
    await came(5);
    for (const entry of [...asked]) entry.answer();
    for (const { sink } of calls) await sink.over;
    for (let i = 6; i < 16; i++) {
      await once(setting, i);
      clock.advance(1_000);
    }
    const isOpen = (peer: Peer): boolean => !peer.socket.readableEnded && !peer.socket.destroyed;
    await turns();
    expect(server.peers.filter(isOpen)).toHaveLength(1);
    expect(pool.isEmpty).toBe(false);
    clock.advance(4_000);
    expect(pool.isEmpty).toBe(true);
    expect(clock.timers).toBe(0);
  });
});

describe("no connection", () => {
  /** A port where nobody listens. */
  async function freePort(): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    return port;
  }

  it("to a port where nobody listens: every call that waits is told, before anything is sent", async () => {
    const port = await freePort();
    const pool = poolTo(port, 2);
    const calls = Array.from({ length: 7 }, () => record(pool, post(port)));
    for (const { sink } of calls) {
      await sink.over;
      expect(sink).toMatchObject({ log: ["error"], kind: "connect", breaches: [] });
      expect(sink.message).toContain("ECONNREFUSED");
    }
    await turns();
    expect(pool.isEmpty).toBe(true);
    expect(clock.timers).toBe(0);
  });

  it("to any address of a name: the reason is told", async () => {
    const origin = `http://localhost:${await freePort()}`;
    const sink = await recordToEnd(poolTo(origin), post(origin));
    expect(sink.kind).toBe("connect");
    expect(sink.message).toContain("ECONNREFUSED");
  });

  it("to a name that there is not", async () => {
    // Too long for a label: refused by the resolver itself, without a network.
    const origin = `http://${"a".repeat(64)}.invalid`;
    const sink = await recordToEnd(poolTo(origin), post(origin));
    expect(sink).toMatchObject({ log: ["error"], kind: "connect" });
    expect(sink.message).toMatch(/getaddrinfo/);
  });

  describe("because TLS never begins", () => {
    async function silent(connections: number): Promise<{ server: TcpUpstream; pool: Pool; origin: string }> {
      const server = await startTcpUpstream(() => {});
      closers.push(() => server.close());
      const origin = `https://127.0.0.1:${server.port}`;
      return { server, origin, pool: poolTo(origin, connections) };
    }
    async function peers(server: TcpUpstream, count: number): Promise<void> {
      while (server.peers.length < count) await turn();
    }

    it("by the deadline: the call is told, and the next one begins anew", async () => {
      const { server, pool, origin } = await silent(1);
      for (let i = 1; i <= 2; i++) {
        const { sink } = record(pool, post(origin));
        await peers(server, i);
        clock.advance(4_999);
        expect(sink.log).toEqual([]);
        clock.advance(1);
        expect(sink).toMatchObject({
          log: ["error"],
          kind: "connect_timeout",
          message: "no connection within 5000 ms",
        });
        await server.peers[i - 1]?.ended;
      }
      expect(clock.timers).toBe(0);
      expect(pool.isEmpty).toBe(true);
    });

    it("and the call is aborted: the connection is closed at once", async () => {
      const { server, pool, origin } = await silent(2);
      const first = record(pool, post(origin));
      const second = record(pool, post(origin));
      await peers(server, 2);
      first.abort();
      await Promise.race(server.peers.map(({ ended }) => ended));
      expect(pool.isEmpty).toBe(false);
      second.abort();
      await Promise.all(server.peers.map(({ ended }) => ended));
      await turns();
      expect(pool.isEmpty).toBe(true);
      expect(clock.timers).toBe(0);
      for (const { sink } of [first, second]) expect(sink).toMatchObject({ log: [], breaches: [] });
    });
  });
});

describe("an abort", () => {
  it.each([
    ["before the answer", ""],
    ["within its head", "HTTP/1.1 200 OK\r\n"],
    ["within its body", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nok"],
  ])("%s closes the connection at once; the next call gets another", async (_when, bytes) => {
    const setting = await setup(4);
    const { send, asked, came, server } = setting;
    const { sink, abort } = send();
    await came(1);
    asked[0]?.answer(bytes);
    if (bytes.includes("ok")) await sink.begun;
    abort();
    abort();
    await server.peers[0]?.ended;
    server.peers[0]?.socket.write(OK);
    await turns();
    expect(sink.breaches).toEqual([]);
    expect((await once(setting, 2)).text).toBe("ok");
    expect(server.peers).toHaveLength(2);
  });

  it.each(["sent", "headers", "data"] as const)("from within the sink (%s) is the last it hears", async (when) => {
    const { send, asked, came, server, pool } = await setup(1);
    const running = send();
    running.sink.onEvent = (event) => {
      if (event === when) running.abort();
    };
    if (when !== "sent") {
      await came(1);
      // Body, end and more in one piece: the parser has them all at hand.
      asked[0]?.answer(`${OK}garbage`);
    }
    while (!running.sink.isAborted) await turn();
    await server.peers[0]?.ended;
    await turns();
    expect(running.sink.breaches).toEqual([]);
    expect(running.sink.log.at(-1)).toBe(when);
    expect(pool.isEmpty).toBe(true);
  });

  it.each(["end", "error"] as const)("from within, or after, its %s does nothing to others", async (how) => {
    const { send, asked, came, server } = await setup(1);
    const first = send();
    const second = send();
    first.sink.onEvent = (event) => {
      if (event === how) first.abort();
    };
    await came(1);
    asked[0]?.answer(how === "end" ? OK : "nonsense");
    await first.sink.over;
    await came(2);
    first.call.abort();
    first.call.pause();
    asked.find(({ peer }) => !peer.socket.destroyed)?.answer();
    await second.sink.over;
    expect(second.sink.text).toBe("ok");
    expect(server.peers).toHaveLength(how === "end" ? 1 : 2);
  });
});

describe("drained", () => {
  it("a pool lets calls finish, serves those that wait, and closes what is idle, now or later", async () => {
    const setting = await setup(2);
    const { send, asked, came, server, pool } = setting;
    const calls = [send("/1"), send("/2")];
    await came(2);
    asked[0]?.answer();
    await Promise.race(calls.map(({ sink }) => sink.over));
    const [idle] = server.peers.filter((peer) => peer !== asked[0]?.peer);
    calls.push(send("/3"), send("/4"));
    await came(3);
    pool.drain();
    await turns();
    expect(calls.filter(({ sink }) => sink.log.includes("end"))).toHaveLength(1);
    for (let left = 4; left > 1; left--) {
      await came(Math.min(4, 6 - left + 1));
      asked[0]?.answer();
      await turns();
    }
    for (const { sink } of calls) {
      await sink.over;
      expect(sink).toMatchObject({ text: "ok", breaches: [] });
    }
    await idle?.ended;
    for (const { ended } of server.peers) await ended;
    expect(pool.isEmpty).toBe(true);
    expect(clock.timers).toBe(0);
  });

  it("a pool closes its idle connections at once", async () => {
    const setting = await setup(2);
    await once(setting, 1);
    setting.pool.drain();
    await setting.server.peers[0]?.ended;
    expect(clock.timers).toBe(0);
  });
});

describe("destroyed", () => {
  it("a pool ends every call, each once, and opens nothing more", async () => {
    const { send, came, server, pool } = await setup(2);
    const calls = Array.from({ length: 6 }, () => send());
    await came(2);
    pool.destroy();
    pool.destroy();
    for (const [i, { sink }] of calls.entries()) {
      await sink.over;
      const isSent = i < 2;
      expect(sink).toMatchObject({
        log: isSent ? ["sent", "error"] : ["error"],
        kind: isSent ? "reset" : "connect",
        message: "closed by the gateway",
        breaches: [],
      });
    }
    await turns();
    expect(server.peers).toHaveLength(2);
    expect(pool.isEmpty).toBe(true);
    expect(clock.timers).toBe(0);
  });

  it("a pool that is still connecting never does", async () => {
    const { send, server, pool } = await setup(2);
    const { sink } = send();
    pool.destroy();
    await sink.over;
    await turns();
    expect(sink).toMatchObject({ log: ["error"], kind: "connect", breaches: [] });
    for (const { ended } of server.peers) await ended;
    expect(pool.isEmpty).toBe(true);
  });
});
