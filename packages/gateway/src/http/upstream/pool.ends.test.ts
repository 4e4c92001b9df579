import { createServer } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type AskedPool, poolTo, startAskedPool, turns } from "../../../test/support/asked-pool.ts";
import { post, record, recordToEnd } from "../../../test/support/recording-sink.ts";
import { startTcpUpstream, type TcpUpstream } from "../../../test/support/tcp-upstream.ts";
import type { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { Pool } from "./pool.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const closers: (() => unknown)[] = [];
const setup = (connections: number): Promise<AskedPool> => startAskedPool(closers, connections);

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
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
    const { pool, clock } = poolTo(closers, port, 2);
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
    const sink = await recordToEnd(poolTo(closers, origin).pool, post(origin));
    expect(sink.kind).toBe("connect");
    expect(sink.message).toContain("ECONNREFUSED");
  });

  it("to a name that there is not", async () => {
    // Too long for a label: refused by the resolver itself, without a network.
    const origin = `http://${"a".repeat(64)}.invalid`;
    const sink = await recordToEnd(poolTo(closers, origin).pool, post(origin));
    expect(sink).toMatchObject({ log: ["error"], kind: "connect" });
    expect(sink.message).toMatch(/getaddrinfo/);
  });

  describe("because TLS never begins", () => {
    async function silent(
      connections: number,
    ): Promise<{ server: TcpUpstream; pool: Pool; clock: VirtualClock; origin: string }> {
      const server = await startTcpUpstream(() => {});
      closers.push(() => server.close());
      const origin = `https://127.0.0.1:${server.port}`;
      return { server, origin, ...poolTo(closers, origin, connections) };
    }
    async function peers(server: TcpUpstream, count: number): Promise<void> {
      while (server.peers.length < count) await turn();
    }

    it("by the deadline: the call is told, and the next one begins anew", async () => {
      const { server, pool, clock, origin } = await silent(1);
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
      const { server, pool, clock, origin } = await silent(2);
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
    expect((await setting.once(2)).text).toBe("ok");
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
    const { send, asked, came, server, pool, clock } = setting;
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
    await setting.once(1);
    setting.pool.drain();
    await setting.server.peers[0]?.ended;
    expect(setting.clock.timers).toBe(0);
  });
});

describe("destroyed", () => {
  it("a pool ends every call, each once, and opens nothing more", async () => {
    const { send, came, server, pool, clock } = await setup(2);
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
