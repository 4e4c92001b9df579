import { createHash } from "node:crypto";
import { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { post, RecordingSink, record, recordToEnd } from "../../../test/support/recording-sink.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "../../../test/support/tcp-upstream.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { Transport } from "../../core/transport.ts";
import { Connection } from "./connection.ts";
import type { Dialer } from "./dial.ts";
import { Exchange } from "./exchange.ts";
import { createTransport } from "./transport.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const NO_BYTES = { first: Buffer.alloc(0), rest: null };

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function upstream(...args: Parameters<typeof startTcpUpstream>): Promise<TcpUpstream> {
  const server = await startTcpUpstream(...args);
  closers.push(() => server.close());
  return server;
}

function transport(): Transport {
  const made = createTransport(new VirtualClock());
  closers.push(() => made.close());
  return made;
}

/** Answers every request with the same bytes. */
const answering =
  (bytes: string | Buffer) =>
  async (peer: Peer): Promise<void> => {
    while (await peer.request()) peer.socket.write(bytes);
  };

describe("on the wire", () => {
  it("a request is what it should be, byte by byte, with a small body and a large one", async () => {
    const seen: string[] = [];
    const server = await upstream(async (peer) => {
      for (let got = await peer.request(); got; got = await peer.request()) {
        seen.push(got.head + got.body.toString("latin1"));
        peer.socket.write(OK);
      }
    });
    const to = transport();
    const whole = ["{}", "x".repeat(4 * 1024), "y".repeat(4 * 1024 + 1), "z".repeat(64 * 1024 + 1)];
    const split = [[""], ["{", "", "}"], ["x".repeat(9_000), "y", "z".repeat(90_000)]];
    for (const body of whole) await recordToEnd(to, post(server.port, { body: Buffer.from(body) }));
    for (const parts of split) {
      const pieces = parts.map((part) => Buffer.from(part));
      await recordToEnd(to, post(server.port, { body: { pieces, length: parts.join("").length } }));
    }
    const bodies = [...whole, ...split.map((parts) => parts.join(""))];
    await recordToEnd(to, post(server.port, { method: "GET", path: "/models", body: null, headers: [] }));
    const host = `host: 127.0.0.1:${server.port}\r\n`;
    expect(seen).toEqual([
      ...bodies.map(
        (body) =>
          `POST /v1/chat/completions HTTP/1.1\r\n${host}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ),
      `GET /models HTTP/1.1\r\n${host}\r\n`,
    ]);
    expect(server.peers).toHaveLength(1);
  });

  it("a request that would be read as two is thrown back, and nothing of it is written", async () => {
    const server = await upstream(answering(OK));
    const to = transport();
    const sink = new RecordingSink();
    for (const change of [{ path: "/a\r\nx: y" }, { path: "/a b" }, { headers: ["x-a", "1\u010d\u010ax: y"] }])
      expect(() => to.send(post(server.port, change), sink)).toThrow();
    await turn();
    expect(sink.log).toEqual([]);
    expect(server.peers).toHaveLength(0);
    expect((await recordToEnd(to, post(server.port))).text).toBe("ok");
  });

  it("an IPv6 host stands in brackets", async () => {
    let head = "";
    const serve = async (peer: Peer): Promise<void> => {
      head = (await peer.request())?.head ?? "";
      peer.socket.end(OK);
    };
    const server = await upstream(serve, { host: "::1" }).catch(() => null);
    if (!server) return;
    const sink = await recordToEnd(transport(), post(`http://[::1]:${server.port}`));
    expect(sink.text).toBe("ok");
    expect(head).toContain(`host: [::1]:${server.port}\r\n`);
  });
});

describe("a connection that was used before", () => {
  it("carries a thousand exchanges, and gathers nothing on the way", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on("warning", onWarning);
    closers.push(() => process.off("warning", onWarning));
    const server = await upstream(answering(OK));
    const to = transport();
    for (let i = 0; i < 1_000; i++) {
      const { sink, call } = record(to, post(server.port));
      if (i % 3 === 0) call.pause();
      await sink.sent;
      if (i % 3 === 0) call.resume();
      await sink.over;
      expect(sink).toMatchObject({ text: "ok", log: ["sent", "headers", "data", "end"], breaches: [] });
    }
    await turn();
    expect(server.peers).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["closes", (socket) => void socket.end()],
    ["resets", (socket) => void socket.resetAndDestroy()],
  ])(
    "and that its upstream %s as the request arrives is told as a reset; the request is not sent twice",
    async (_how, cut) => {
      let requests = 0;
      const server = await upstream(async (peer) => {
        await peer.request();
        peer.socket.write(OK);
        if (!(await peer.request())) return;
        requests++;
        cut(peer.socket);
      });
      const to = transport();
      await recordToEnd(to, post(server.port));
      const sink = await recordToEnd(to, post(server.port));
      expect(sink).toMatchObject({ log: ["sent", "error"], kind: "reset" });
      for (let i = 0; i < 20; i++) await turn();
      expect(requests).toBe(1);
      expect(server.peers).toHaveLength(1);
    },
  );

  it("is not used again after its upstream closed it", async () => {
    const server = await upstream(async (peer, index) => {
      await peer.request();
      peer.socket.write(OK);
      if (index > 0) return;
      await peer.request();
    });
    const to = transport();
    await recordToEnd(to, post(server.port));
    const [first] = server.peers;
    first?.socket.end();
    await first?.ended;
    expect(await recordToEnd(to, post(server.port))).toMatchObject({ kind: null, text: "ok" });
    expect(server.peers).toHaveLength(2);
  });

  it.each([
    ["says close", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
    ["has more behind it", `${OK}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil`],
    [
      "has a length beside its chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ],
    ["is HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
  ])("is closed by us when the answer %s, and whoever waits for it gets another", async (_how, bytes) => {
    const server = await upstream(answering(bytes));
    const to = transport();
    const calls = [1, 2].map(() => record(to, post(server.port, {}, { connections: 1 })));
    for (const { sink } of calls) {
      await sink.over;
      expect(sink).toMatchObject({ kind: null, text: "ok", breaches: [] });
    }
    await server.peers[0]?.ended;
    expect(server.peers).toHaveLength(2);
  });
});

describe("a large request", () => {
  const body = Buffer.alloc(20 * 1024 * 1024, "0123456789abcdef-");
  const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

  it("arrives whole at a server that reads slowly", async () => {
    let got = "";
    const server = await upstream(
      async (peer) => {
        const request = peer.request();
        for (let i = 0; i < 200; i++) {
          peer.socket.pause();
          await turn();
          peer.socket.resume();
          await turn();
        }
        got = digest((await request)?.body ?? Buffer.alloc(0));
        peer.socket.write(OK);
      },
      { highWaterMark: 4_096 },
    );
    expect((await recordToEnd(transport(), post(server.port, { body }))).text).toBe("ok");
    expect(got).toBe(digest(body));
  });

  it("that is refused before it is out, by an answer and a cut, is answered: the cut does not win", async () => {
    const answer = "HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large";
    const server = await upstream(({ socket }) => {
      socket.removeAllListeners("data");
      socket.once("data", () => {
        socket.pause();
        // What was not read makes it a reset, which meets us writing.
        socket.end(answer, () => socket.destroy());
      });
    });
    const to = transport();
    for (let i = 0; i < 30; i++) {
      const sink = await recordToEnd(to, post(server.port, { body }));
      expect(sink).toMatchObject({ status: 413, text: "too large", kind: null, breaches: [] });
    }
    expect(server.peers).toHaveLength(30);
  });

  it("that is answered before it is out leaves no connection behind that a rest of it would stand on", async () => {
    const server = await upstream(async (peer, index) => {
      if (index > 0) return answering(OK)(peer);
      peer.socket.pause();
      peer.socket.write("HTTP/1.1 400 Bad\r\ncontent-length: 2\r\n\r\nno");
    });
    const to = transport();
    expect(await recordToEnd(to, post(server.port, { body }))).toMatchObject({ status: 400, text: "no" });
    expect(await recordToEnd(to, post(server.port))).toMatchObject({ status: 200, text: "ok" });
    server.peers[0]?.socket.resume();
    await server.peers[0]?.ended;
  });

  it("that is aborted while it is written ends at once", async () => {
    const server = await upstream(({ socket }) => void socket.pause());
    const to = transport();
    const running = record(to, post(server.port, { body }));
    await running.sink.sent;
    running.abort();
    server.peers[0]?.socket.resume();
    await server.peers[0]?.ended;
    expect(server.peers[0]?.socket.bytesRead).toBeLessThan(body.length);
    expect(running.sink).toMatchObject({ log: ["sent"], breaches: [] });
  });
});

describe("an upstream that", () => {
  it.each<[string, string, string[], string | null]>([
    ["closes its half without a word", "", ["sent", "error"], "reset"],
    ["closes its half within a head", "HTTP/1.1 200 OK\r\nx", ["sent", "error"], "reset"],
    ["closes its half after an answer", OK, ["sent", "headers", "data", "end"], null],
    ["ends its body so", "HTTP/1.1 200 OK\r\n\r\nok", ["sent", "headers", "data", "end"], null],
  ])("%s, and goes on reading", async (_what, bytes, log, kind) => {
    const server = await upstream(
      async (peer) => {
        await peer.request();
        peer.socket.end(bytes);
      },
      { allowHalfOpen: true },
    );
    const to = transport();
    expect(await recordToEnd(to, post(server.port))).toMatchObject({ log, kind, breaches: [] });
    // Our half is closed, too.
    await server.peers[0]?.ended;
    expect((await recordToEnd(to, post(server.port))).kind).toBe(kind);
  });

  it("answers, and is cut within its body that lasts until the close, has not answered", async () => {
    const server = await upstream(async (peer) => {
      await peer.request();
      peer.socket.write("HTTP/1.1 200 OK\r\n\r\nok");
      await begun;
      peer.socket.resetAndDestroy();
    });
    const { sink } = record(transport(), post(server.port));
    const begun = sink.begun;
    await sink.over;
    expect(sink).toMatchObject({ log: ["sent", "headers", "data", "error"], kind: "reset", breaches: [] });
  });

  it("streams megabytes of base64 is heard out", async () => {
    const piece = Buffer.alloc(48 * 1024, "some image").toString("base64");
    const pieces = 400;
    const server = await upstream(async (peer) => {
      await peer.request();
      peer.socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      for (let i = 0; i < pieces; i++) peer.socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      peer.socket.write("0\r\n\r\n");
    });
    const sink = await recordToEnd(transport(), post(server.port));
    expect(sink).toMatchObject({ log: ["sent", "headers", "data", "end"], breaches: [], bytes: pieces * piece.length });
    expect(sink.text === piece.repeat(pieces)).toBe(true);
  });
});

it("what a sink is given is its own, what it was lent is not: the next read goes to the same place", async () => {
  const frame = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const server = await upstream(async (peer) => {
    await peer.request();
    peer.socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${frame("one")}`);
    for (const text of ["two", "pass", "six"]) {
      for (let i = 0; i < 50; i++) await turn();
      peer.socket.write(frame(text));
    }
    peer.socket.write("0\r\n\r\n");
  });
  const kept: Buffer[] = [];
  const asked: string[] = [];
  class Keeping extends RecordingSink {
    override onData(chunk: Buffer): void {
      kept.push(chunk);
      super.onData(chunk);
    }
    passes(bytes: Buffer, from: number, to: number): boolean {
      asked.push(bytes.toString("latin1", from, to));
      return asked.at(-1) === "pass";
    }
  }
  const sink = new Keeping();
  transport().send(post(server.port), sink);
  await sink.over;
  expect(asked).toEqual(["one", "two", "pass", "six"]);
  expect(kept.map(String)).toEqual(["one", "two", "six"]);
});

describe("a sink that throws", () => {
  /** A connection on a socket that goes nowhere, and what it is told to read. */
  function connection(onIdle: (one: Connection) => void = () => {}): { on: Connection; read(text: string): void } {
    const socket = new Socket();
    const owner = { onConnected() {}, onIdle, onGone() {} };
    let onBytes = (_bytes: Buffer): void => {};
    const open: Dialer["open"] = (listener) => {
      onBytes = listener;
      return socket;
    };
    const on = new Connection({ ready: "connect", open }, owner, { clock: new VirtualClock(), ms: 1 });
    socket.emit("connect");
    Object.defineProperties(socket, { readyState: { value: "open" }, write: { value: () => true } });
    closers.push(() => socket.destroy());
    return { on, read: (text) => onBytes(Buffer.from(text)) };
  }

  function exchange(throwAt: string): { exchange: Exchange; sink: RecordingSink } {
    const sink = new RecordingSink();
    sink.onEvent = (event) => {
      if (event === throwAt) throw new Error("a mistake of ours");
    };
    return { sink, exchange: new Exchange(NO_BYTES, sink, { forget() {} }) };
  }

  it.each(["headers", "data"])("in the middle (%s) fails its own call", (event) => {
    const { on, read } = connection();
    const { exchange: call, sink } = exchange(event);
    call.begin(on);
    read(OK);
    expect(sink).toMatchObject({ kind: "protocol", message: "a mistake of ours", breaches: [] });
  });

  it("at its end does not fail the call that has its connection by then", () => {
    const first = exchange("end");
    const second = exchange("");
    const { on, read } = connection((one) => first.sink.log.length === 3 && second.exchange.begin(one));
    first.exchange.begin(on);
    expect(() => read(OK)).toThrow("a mistake of ours");
    expect(second.sink.log).toEqual(["sent"]);
    read(OK);
    expect(second.sink).toMatchObject({ text: "ok", kind: null, breaches: [] });
  });
});

it("a port where something else listens is a protocol error, told at once", async () => {
  const server = await upstream((peer) => void peer.socket.write("220 mail.example.com ESMTP"));
  const sink = await recordToEnd(transport(), post(server.port));
  expect(sink).toMatchObject({ log: ["sent", "error"], kind: "protocol", message: "not an HTTP/1.1 response" });
  await server.peers[0]?.ended;
});

it("that no address of a name could be reached is told with each one's reason", () => {
  const socket = new Socket();
  const sink = new RecordingSink();
  const waiting = new Exchange(NO_BYTES, sink, { forget() {} });
  const owner = { onConnected() {}, onIdle() {}, onGone: (one: Connection) => one.failWaiting(waiting) };
  const clock = new VirtualClock();
  new Connection({ ready: "connect", open: () => socket }, owner, { clock, ms: 1 });
  // As node reports it: without a message of its own.
  socket.emit("error", new AggregateError([new Error("refused ::1"), new Error("refused 127.0.0.1")]));
  socket.emit("close");
  expect(sink).toMatchObject({ kind: "connect", message: "refused ::1; refused 127.0.0.1", breaches: [] });
  expect(clock.timers).toBe(0);
});
