import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { post, record, recordToEnd } from "../../../test/support/recording-sink.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "../../../test/support/tcp-upstream.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { Transport } from "../../core/transport.ts";
import { createTransport } from "./transport.ts";

const MIB = 1024 * 1024;
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function upstream(serve: (peer: Peer, index: number) => unknown): Promise<TcpUpstream> {
  const server = await startTcpUpstream(serve);
  closers.push(() => server.close());
  return server;
}

function transport(): Transport {
  const made = createTransport(new VirtualClock());
  closers.push(() => made.close());
  return made;
}

/** Turns of the event loop, until a number has not moved for many of them. */
async function untilStill(read: () => number): Promise<number> {
  let before = -1;
  for (let still = 0; still < 200; still++) {
    if (read() !== before) still = 0;
    before = read();
    await turn();
  }
  return before;
}

/** Sends a body as fast as it is taken. */
function pour(peer: Peer, bytes: number, chunked: boolean): { poured: number } {
  const state = { poured: 0 };
  const piece = Buffer.alloc(64 * 1024, "x");
  const framed = chunked ? Buffer.concat([Buffer.from("10000\r\n"), piece, Buffer.from("\r\n")]) : piece;
  const { socket } = peer;
  socket.write(`HTTP/1.1 200 OK\r\n${chunked ? "transfer-encoding: chunked" : `content-length: ${bytes}`}\r\n\r\n`);
  const more = (): void => {
    while (state.poured < bytes) {
      state.poured += piece.length;
      if (!socket.write(framed)) return void socket.once("drain", more);
    }
    if (chunked) socket.write("0\r\n\r\n");
  };
  more();
  return state;
}

describe("a paused call", () => {
  it.each([
    ["of a length", false],
    ["in chunks", true],
  ])("holds an upstream up with a body %s, and gets all of it later", async (_how, chunked) => {
    const size = 100 * MIB;
    let flow = { poured: 0 };
    const server = await upstream(async (peer) => {
      await peer.request();
      flow = pour(peer, size, chunked);
    });
    const { sink, call } = record(transport(), post(server.port));
    await sink.begun;
    call.pause();
    const atPause = sink.bytes;
    const stuck = await untilStill(() => flow.poured);
    expect(stuck).toBeLessThan(size / 2);
    // What was on its way in the event that paused it, and no more.
    expect(sink.bytes - atPause).toBeLessThanOrEqual(128 * 1024);
    const held = await untilStill(() => sink.bytes);
    expect(held).toBe(sink.bytes);
    call.resume();
    await sink.over;
    expect(sink).toMatchObject({ bytes: size, breaches: [], kind: null });
  });

  it("that was paused before it had a connection is sent, and hears nothing until it is resumed", async () => {
    const server = await upstream(async (peer) => {
      while (await peer.request()) peer.socket.write(OK);
    });
    const to = transport();
    // On a new connection, and on one that was used before.
    for (let i = 0; i < 2; i++) {
      const { sink, call } = record(to, post(server.port));
      call.pause();
      await sink.sent;
      const [peer] = server.peers;
      while ((peer?.socket.bytesWritten ?? 0) < OK.length * (i + 1)) await turn();
      await untilStill(() => sink.bytes);
      expect(sink.log).toEqual(["sent"]);
      call.resume();
      await sink.over;
      expect(sink).toMatchObject({ text: "ok", breaches: [] });
    }
    expect(server.peers).toHaveLength(1);
  });

  it("that waits in line is paused when its turn comes, and the call before it is not", async () => {
    const server = await upstream(async (peer) => {
      for (let got = await peer.request(); got; got = await peer.request()) peer.socket.write(OK);
    });
    const to = transport();
    const first = record(to, post(server.port, {}, { connections: 1 }));
    const second = record(to, post(server.port, {}, { connections: 1 }));
    second.call.pause();
    await first.sink.over;
    await second.sink.sent;
    await untilStill(() => second.sink.log.length);
    expect(second.sink.log).toEqual(["sent"]);
    second.call.resume();
    await second.sink.over;
    expect(server.peers).toHaveLength(1);
  });

  it("that ends paused leaves its connection running for the next", async () => {
    const server = await upstream(async (peer) => {
      while (await peer.request()) peer.socket.write(OK);
    });
    const to = transport();
    for (const when of ["headers", "data", "end"] as const) {
      const running = record(to, post(server.port));
      // The rest of the answer is at hand, in the same piece, and comes all the same.
      running.sink.onEvent = (event) => {
        if (event === when) running.call.pause();
      };
      await running.sink.over;
      expect(running.sink).toMatchObject({ text: "ok", breaches: [] });
    }
    expect((await recordToEnd(to, post(server.port))).text).toBe("ok");
    expect(server.peers).toHaveLength(1);
    // An idle one hears when it is closed.
    server.peers[0]?.socket.end();
    await server.peers[0]?.ended;
  });

  it("does not hold up the call after it, nor does its late resume run that one", async () => {
    const server = await upstream(async (peer) => {
      while (await peer.request()) peer.socket.write(OK);
    });
    const to = transport();
    const first = record(to, post(server.port));
    first.call.pause();
    await first.sink.sent;
    first.call.resume();
    await first.sink.over;
    const second = record(to, post(server.port));
    second.call.pause();
    first.call.resume();
    await untilStill(() => second.sink.log.length);
    expect(second.sink.log).toEqual(["sent"]);
    second.call.resume();
    first.call.pause();
    await second.sink.over;
    expect(second.sink.text).toBe("ok");
  });

  it("may be paused and resumed at every piece", async () => {
    const size = 4 * MIB;
    const server = await upstream(async (peer) => {
      await peer.request();
      pour(peer, size, true);
    });
    const running = record(transport(), post(server.port));
    running.sink.onEvent = (event) => {
      if (event !== "data") return;
      running.call.pause();
      setImmediate(() => running.call.resume());
    };
    await running.sink.over;
    expect(running.sink).toMatchObject({ bytes: size, breaches: [], log: ["sent", "headers", "data", "end"] });
  });

  it("that is aborted is closed, though nothing is read", async () => {
    const server = await upstream(async (peer) => {
      await peer.request();
      pour(peer, 64 * MIB, false);
    });
    const running = record(transport(), post(server.port));
    await running.sink.begun;
    running.call.pause();
    running.abort();
    await server.peers[0]?.ended;
    expect(running.sink.breaches).toEqual([]);
  });
});
