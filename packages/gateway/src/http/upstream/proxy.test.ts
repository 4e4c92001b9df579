import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { post, record, recordToEnd } from "../../../test/support/recording-sink.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "../../../test/support/tcp-upstream.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { Transport } from "../../core/transport.ts";
import { createTransport } from "./transport.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(serve: (peer: Peer) => unknown): Promise<TcpUpstream> {
  const server = await startTcpUpstream(serve);
  closers.push(() => server.close());
  return server;
}

function transport(): Transport {
  const made = createTransport(new VirtualClock());
  closers.push(() => made.close());
  return made;
}

/** A proxy that opens a tunnel to wherever it is asked to, and the heads of what it was asked. */
async function proxy(): Promise<{ heads: string[]; url: string }> {
  const heads: string[] = [];
  const server = await start(async (peer) => {
    const asked = await peer.request();
    if (!asked) return;
    heads.push(asked.head);
    const [, host = "", port = ""] = /^CONNECT ([^:]+):(\d+)/.exec(asked.head) ?? [];
    const onward: Socket = connect({ host, port: Number(port) });
    onward.on("error", () => peer.socket.destroy());
    peer.socket.on("close", () => onward.destroy());
    peer.socket.removeAllListeners("data");
    peer.socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    peer.socket.pipe(onward).pipe(peer.socket);
  });
  return { heads, url: `http://127.0.0.1:${server.port}` };
}

const answer = async (peer: Peer): Promise<void> => {
  while (await peer.request()) peer.socket.write(OK);
};

describe("through a proxy", () => {
  it("calls go in one tunnel, one after the other, as they are", async () => {
    const { heads, url } = await proxy();
    const asked: string[] = [];
    const server = await start(async (peer) => {
      for (let got = await peer.request(); got; got = await peer.request()) {
        asked.push(got.head);
        peer.socket.write(OK);
      }
    });
    const to = transport();
    for (let i = 0; i < 2; i++) {
      expect(await recordToEnd(to, post(server.port, {}, { proxy: url }))).toMatchObject({ text: "ok", breaches: [] });
      // undici takes a connection back only after it has told the end.
      await new Promise(setImmediate);
    }
    expect(heads.map((head) => /^.*/.exec(head)?.[0])).toEqual([`CONNECT 127.0.0.1:${server.port} HTTP/1.1`]);
    expect(asked).toHaveLength(2);
    for (const head of asked) {
      expect(head).toMatch(/^POST \/v1\/chat\/completions HTTP\/1\.1\r\n/);
      expect(head).toContain(`host: 127.0.0.1:${server.port}\r\n`);
      expect(head).toContain("content-type: application/json\r\n");
      expect(head).not.toMatch(/proxy/i);
    }
  });

  it("its credentials go to it, and no further", async () => {
    const { heads, url } = await proxy();
    let asked = "";
    const server = await start(async (peer) => {
      asked = (await peer.request())?.head ?? "";
      peer.socket.write(OK);
    });
    await recordToEnd(transport(), post(server.port, {}, { proxy: url.replace("//", "//user:pass@") }));
    expect(heads[0]).toContain(`proxy-authorization: Basic ${btoa("user:pass")}\r\n`);
    expect(asked).toMatch(/^POST /);
    expect(asked).not.toMatch(/proxy/i);
  });

  it.each(["403 Forbidden", "407 Proxy Authentication Required", "502 Bad Gateway"])(
    "that answers %s there is no connection, and nothing is sent",
    async (status) => {
      const server = await start(async (peer) => {
        await peer.request();
        peer.socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
      });
      const origin = "http://upstream.invalid";
      const sink = await recordToEnd(transport(), post(origin, {}, { proxy: `http://127.0.0.1:${server.port}` }));
      expect(sink).toMatchObject({ log: ["error"], kind: "connect", breaches: [] });
    },
  );

  it("an abort closes the tunnel and what is behind it", async () => {
    const { url } = await proxy();
    const server = await start(async (peer) => {
      await peer.request();
      peer.socket.write("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello");
    });
    const running = record(transport(), post(server.port, {}, { proxy: url }));
    await running.sink.begun;
    running.abort();
    await server.peers[0]?.ended;
    expect(running.sink.breaches).toEqual([]);
  });

  it("calls without one go their own way, though all else is the same", async () => {
    const { heads, url } = await proxy();
    const server = await start(answer);
    const to = transport();
    expect((await recordToEnd(to, post(server.port))).text).toBe("ok");
    expect(heads).toEqual([]);
    expect((await recordToEnd(to, post(server.port, {}, { proxy: url }))).text).toBe("ok");
    expect(heads).toHaveLength(1);
  });
});
