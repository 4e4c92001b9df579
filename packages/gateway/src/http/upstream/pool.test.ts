import { afterEach, describe, expect, it } from "vitest";
import { type AskedPool, startAskedPool, turns } from "../../../test/support/asked-pool.ts";
import type { Recorded } from "../../../test/support/recording-sink.ts";
import type { Peer } from "../../../test/support/tcp-upstream.ts";

const closers: (() => unknown)[] = [];
const setup = (connections: number): Promise<AskedPool> => startAskedPool(closers, connections);

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

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
    const { server, clock } = setting;
    const bytes = `HTTP/1.1 200 OK\r\n${line}content-length: 2\r\n\r\nok`;
    await setting.once(1, bytes);
    clock.advance(within);
    await turns();
    await setting.once(2, bytes);
    expect(server.peers).toHaveLength(1);
    clock.advance(after);
    // Nobody has to ask for it.
    await server.peers[0]?.ended;
    await setting.once(3, bytes);
    expect(server.peers).toHaveLength(2);
  });

  it.each([0, 1])("is not used again where the upstream keeps it for %i s only", async (seconds) => {
    const setting = await setup(1);
    for (let i = 1; i <= 2; i++)
      await setting.once(i, `HTTP/1.1 200 OK\r\nkeep-alive: timeout=${seconds}\r\ncontent-length: 2\r\n\r\nok`);
    expect(setting.server.peers).toHaveLength(2);
  });

  it("on which something comes that nobody asked for is closed, and what came is nobody's answer", async () => {
    const setting = await setup(1);
    const { server } = setting;
    await setting.once(1);
    server.peers[0]?.socket.write("HTTP/1.1 408 Request Timeout\r\ncontent-length: 4\r\n\r\nevil");
    await server.peers[0]?.ended;
    expect(await setting.once(2)).toMatchObject({ status: 200, text: "ok", breaches: [] });
    expect(server.peers).toHaveLength(2);
  });

  it("that a burst left behind is closed in its time, though another is used all along", async () => {
    const setting = await setup(5);
    const { send, asked, came, server, pool, clock } = setting;
    const calls = Array.from({ length: 5 }, () => send());
    await came(5);
    for (const entry of [...asked]) entry.answer();
    for (const { sink } of calls) await sink.over;
    for (let i = 6; i < 16; i++) {
      await setting.once(i);
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
