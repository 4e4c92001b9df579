import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../../../test/support/until.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import { systemClock } from "../../core/clock.ts";
import type {
  Transport,
  UpstreamCall,
  UpstreamErrorKind,
  UpstreamHeaders,
  UpstreamRequest,
  UpstreamSink,
} from "../../core/transport.ts";
import { createProxyTransport } from "../undici-transport.ts";
import { createTransport } from "./transport.ts";

/** A TCP server that is told what to do with each connection. */
interface Upstream {
  origin: string;
  sockets: Socket[];
  /** What has come in on each connection, in order. */
  received: string[];
}

const closers: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function upstream(onData: (socket: Socket, text: string, index: number) => void): Promise<Upstream> {
  const made: Upstream = { origin: "", sockets: [], received: [] };
  const server: Server = createServer((socket) => {
    const index = made.sockets.push(socket) - 1;
    made.received.push("");
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      made.received[index] += bytes.toString("latin1");
      onData(socket, bytes.toString("latin1"), index);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  made.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closers.push(() => {
    for (const socket of made.sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return made;
}

/** Answers each request, told by its end, with the same bytes. */
const answering = (answer: string | Buffer) => (socket: Socket, text: string) =>
  void (text.includes("{}") && socket.write(answer));

const OK = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello";

/** Everything a call told, in order. */
class Heard implements UpstreamSink {
  log: string[] = [];
  status = 0;
  headers: UpstreamHeaders = {};
  body: Buffer[] = [];
  error: UpstreamErrorKind | null = null;

  onSent(): void {
    this.log.push("sent");
  }
  onHeaders(status: number, headers: UpstreamHeaders): void {
    this.log.push("headers");
    this.status = status;
    this.headers = headers;
  }
  onData(chunk: Buffer): void {
    if (this.log[this.log.length - 1] !== "data") this.log.push("data");
    this.body.push(Buffer.from(chunk));
  }
  onEnd(): void {
    this.log.push("end");
  }
  onError(kind: UpstreamErrorKind): void {
    this.log.push("error");
    this.error = kind;
  }

  get over(): boolean {
    return this.log.includes("end") || this.log.includes("error");
  }
  get text(): string {
    return Buffer.concat(this.body).toString();
  }
}

function request(
  origin: string,
  change: Partial<UpstreamRequest> = {},
  pool: Partial<UpstreamRequest["pool"]> = {},
): UpstreamRequest {
  return {
    origin,
    method: "POST",
    path: "/v1/chat?x=1",
    headers: ["content-type", "application/json", "authorization", "Bearer k"],
    body: Buffer.from("{}"),
    connectTimeoutMs: 5_000,
    pool: { key: "a", connections: 4, ...pool },
    ...change,
  };
}

const TRANSPORTS: [string, () => Transport][] = [
  ["our own client", () => createTransport(systemClock)],
  ["undici, which serves proxies", createProxyTransport],
];

describe.each(TRANSPORTS)("%s", (_name, create) => {
  function open(): Transport {
    const transport = create();
    closers.push(() => transport.close());
    return transport;
  }
  function send(transport: Transport, what: UpstreamRequest): { heard: Heard; call: UpstreamCall } {
    const heard = new Heard();
    return { heard, call: transport.send(what, heard) };
  }
  const over = (heard: Heard) => until("the end of the call", () => heard.over);

  it("puts the request on the wire, and tells of the answer in order", async () => {
    const server = await upstream(answering(OK));
    const { heard } = send(open(), request(server.origin));
    await over(heard);
    expect(heard.log).toEqual(["sent", "headers", "data", "end"]);
    expect(heard).toMatchObject({ status: 200, text: "hello" });
    expect(heard.headers["content-type"]).toBe("text/plain");
    const [head, body] = (server.received[0] ?? "").split("\r\n\r\n");
    expect(head).toMatch(/^POST \/v1\/chat\?x=1 HTTP\/1\.1\r\n/);
    expect(head?.toLowerCase()).toContain(`host: ${new URL(server.origin).host}`);
    expect(head?.toLowerCase()).toContain("content-length: 2");
    expect(head).toContain("authorization: Bearer k");
    expect(body).toBe("{}");
  });

  it("sends a body that is text with a byte for each character", async () => {
    const body = '{"a":"\xc3\xa9 \xff"} {}';
    const server = await upstream(answering(OK));
    const headers = ["x-a", "\xe0"];
    const { heard } = send(open(), request(server.origin, { body, headers }));
    await over(heard);
    expect(server.received[0]).toContain("\r\nx-a: \xe0\r\n");
    expect(server.received[0]).toContain(`\r\ncontent-length: ${body.length}\r\n`);
    expect(server.received[0]?.endsWith(`\r\n\r\n${body}`)).toBe(true);
  });

  it("sends a large body whole", async () => {
    const body = Buffer.alloc(3_000_000, 120);
    const server = await upstream((socket) => {
      if ((server.received[0]?.length ?? 0) > body.length) socket.write(OK);
    });
    const { heard } = send(open(), request(server.origin, { body }));
    await over(heard);
    expect(heard.text).toBe("hello");
    expect(server.received[0]?.endsWith(body.toString())).toBe(true);
  });

  it("uses a connection again, and not for two calls at once", async () => {
    const server = await upstream(answering(OK));
    const transport = open();
    for (let i = 0; i < 3; i++) await over(send(transport, request(server.origin)).heard);
    expect(server.sockets).toHaveLength(1);
    const both = [send(transport, request(server.origin)), send(transport, request(server.origin))];
    for (const { heard } of both) await over(heard);
    expect(server.sockets).toHaveLength(2);
  });

  it("opens no more than it may; the rest waits its turn", async () => {
    const server = await upstream(answering(OK));
    const transport = open();
    const calls = Array.from({ length: 9 }, () => send(transport, request(server.origin, {}, { connections: 2 })));
    for (const { heard } of calls) {
      await over(heard);
      expect(heard.text).toBe("hello");
    }
    expect(server.sockets).toHaveLength(2);
  });

  it("keeps deployments apart: one that hangs does not hold up another at the same origin", async () => {
    const server = await upstream((socket, text) => {
      if (text.includes("/fast")) socket.write(OK);
    });
    const transport = open();
    const hung = send(transport, request(server.origin, { path: "/hung" }, { key: "slow", connections: 1 }));
    const fast = send(transport, request(server.origin, { path: "/fast" }, { key: "fast", connections: 1 }));
    await over(fast.heard);
    expect(hung.heard.over).toBe(false);
  });

  it.each([
    ["closes", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello"],
    ["speaks HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello"],
  ])("does not use a connection again whose server %s", async (_server, answer) => {
    const server = await upstream(answering(answer));
    const transport = open();
    for (let i = 0; i < 2; i++) await over(send(transport, request(server.origin)).heard);
    expect(server.sockets).toHaveLength(2);
  });

  it.each<[string, string[], string]>([
    ["with a length", ["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"], "hello"],
    [
      "in chunks",
      ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;ext=1\r\nhel\r\n", "2\r\nlo\r\n0\r\ntrailer: x\r\n\r\n"],
      "hello",
    ],
    [
      "behind a 103",
      ["HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"],
      "hello",
    ],
    ["of nothing", ["HTTP/1.1 204 No Content\r\n\r\n"], ""],
    ["of no bytes", ["HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], ""],
  ])("reads an answer %s", async (_how, pieces, text) => {
    const server = await upstream((socket, sent) => {
      if (sent.includes("{}")) for (const piece of pieces) socket.write(piece);
    });
    const { heard } = send(open(), request(server.origin));
    await over(heard);
    expect(heard).toMatchObject({ error: null, text });
    expect(heard.log.filter((entry) => entry === "headers")).toHaveLength(1);
  });

  it("reads an answer that lasts until the close", async () => {
    const server = await upstream(
      (socket, sent) => void (sent.includes("{}") && socket.end("HTTP/1.1 200 OK\r\n\r\nhello")),
    );
    const { heard } = send(open(), request(server.origin));
    await over(heard);
    expect(heard).toMatchObject({ error: null, text: "hello" });
  });

  it.each<[string, UpstreamErrorKind, string]>([
    ["nothing and a close", "reset", ""],
    ["half a head", "reset", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["half a body", "reset", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"],
    ["half a chunk", "reset", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel"],
    ["no HTTP", "protocol", "SSH-2.0-OpenSSH_9.2\r\n\r\n"],
    ["a length that is no number", "protocol", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"],
  ])("%s is an error (%s), told once", async (_what, kind, bytes) => {
    const server = await upstream((socket, sent) => void (sent.includes("{}") && socket.end(bytes)));
    const { heard } = send(open(), request(server.origin));
    await over(heard);
    for (let i = 0; i < 10; i++) await turn();
    expect(heard.error).toBe(kind);
    expect(heard.log.filter((entry) => entry === "error" || entry === "end")).toEqual(["error"]);
    expect(heard.log[0]).toBe("sent");
  });

  it("nobody at home is an error before anything is sent, for every call that waits", async () => {
    const server = await upstream(() => {});
    const { origin } = server;
    await closers.pop()?.();
    const transport = open();
    const calls = [1, 2, 3].map(() => send(transport, request(origin, {}, { connections: 1 })));
    for (const { heard } of calls) {
      await over(heard);
      expect(heard).toMatchObject({ error: "connect", log: ["error"] });
    }
  });

  describe("aborted", () => {
    it.each<[string, string, string[]]>([
      ["before the answer", "", ["sent"]],
      ["within the answer", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello", ["sent", "headers", "data"]],
    ])("%s, the connection is closed and nothing is told any more", async (_when, bytes, log) => {
      const server = await upstream((socket, sent) => void (sent.includes("{}") && socket.write(bytes)));
      const { heard, call } = send(open(), request(server.origin));
      await until(
        "the call to get there",
        () => heard.log.length === log.length && (server.received[0] ?? "").includes("{}"),
      );
      call.abort();
      call.abort();
      await until("the close", () => server.sockets[0]?.readableEnded || server.sockets[0]?.destroyed);
      expect(heard.log).toEqual(log);
    });

    it("while it waits for a connection, it is never sent", async () => {
      const server = await upstream(() => {});
      const transport = open();
      const first = send(transport, request(server.origin, {}, { connections: 1 }));
      const second = send(transport, request(server.origin, { path: "/second" }, { connections: 1 }));
      await until("the first to be sent", () => (server.received[0] ?? "").includes("{}"));
      second.call.abort();
      server.sockets[0]?.write(OK);
      await over(first.heard);
      for (let i = 0; i < 10; i++) await turn();
      expect(second.heard.log).toEqual([]);
      expect(server.received.join()).not.toContain("/second");
    });

    it("after the end, it leaves the connection to whoever has it now", async () => {
      const server = await upstream(answering(OK));
      const transport = open();
      const first = send(transport, request(server.origin));
      await over(first.heard);
      const second = send(transport, request(server.origin));
      first.call.abort();
      await over(second.heard);
      expect(second.heard.text).toBe("hello");
    });
  });

  describe("paused", () => {
    it("reads no more than was under way, so that the upstream has to wait; resumed, it reads all", async () => {
      const total = 64 * 1024 * 1024;
      let written = 0;
      let done = false;
      const server = await upstream((socket, sent) => {
        if (!sent.includes("{}")) return;
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
        const piece = Buffer.alloc(65_536, 120);
        const pump = (): void => {
          while (written < total) {
            written += piece.length;
            if (!socket.write(piece)) return void socket.once("drain", pump);
          }
          done = true;
        };
        pump();
      });
      const { heard, call } = send(open(), request(server.origin));
      await until("the first bytes", () => heard.body.length > 0);
      call.pause();
      const size = (): number => heard.body.reduce((sum, chunk) => sum + chunk.length, 0);
      const atPause = size();
      let before = -1;
      await until("the upstream to be held up", () => {
        const still = before === written;
        before = written;
        return still;
      });
      expect(size() - atPause).toBeLessThanOrEqual(512 * 1024);
      expect(done).toBe(false);
      call.resume();
      await over(heard);
      expect(size()).toBe(total);
    });

    it("before it was sent, it still sends, and reads when it is resumed", async () => {
      const server = await upstream(answering(OK));
      const { heard, call } = send(open(), request(server.origin));
      call.pause();
      await until("the request", () => (server.received[0] ?? "").includes("{}"));
      call.resume();
      await over(heard);
      expect(heard.text).toBe("hello");
    });

    it("to its end, it leaves a connection that can be read again", async () => {
      const server = await upstream(answering(OK));
      const transport = open();
      const first = new Heard();
      const call = transport.send(
        request(server.origin),
        Object.assign(first, {
          onHeaders() {
            call.pause();
            setImmediate(() => call.resume());
          },
        }),
      );
      await over(first);
      const second = send(transport, request(server.origin));
      await over(second.heard);
      expect(second.heard.text).toBe("hello");
    });
  });

  describe("after a reload", () => {
    it("pools that are gone end their calls in peace, and take no new ones", async () => {
      let answer: (() => void) | undefined;
      const server = await upstream((socket, sent) => {
        if (sent.includes("{}")) answer = () => void socket.write(OK);
      });
      const transport = open();
      const { heard } = send(transport, request(server.origin));
      await until("the request", () => answer);
      transport.retain(new Set(["other"]));
      for (let i = 0; i < 10; i++) await turn();
      expect(heard.over).toBe(false);
      answer?.();
      await over(heard);
      expect(heard.text).toBe("hello");
      await until(
        "the old connection to close",
        () => server.sockets[0]?.readableEnded || server.sockets[0]?.destroyed,
      );
    });

    it("pools that stay keep their connections", async () => {
      const server = await upstream(answering(OK));
      const transport = open();
      await over(send(transport, request(server.origin)).heard);
      transport.retain(new Set(["a"]));
      await over(send(transport, request(server.origin)).heard);
      expect(server.sockets).toHaveLength(1);
    });

    it.each<[string, Partial<UpstreamRequest["pool"]>, Partial<UpstreamRequest>]>([
      ["another number of connections", { connections: 7 }, {}],
      ["another certificate", { tls: { ca: "new" } }, {}],
      ["another time to connect", {}, { connectTimeoutMs: 9_000 }],
    ])("%s makes new connections, under the same name", async (_what, pool, change) => {
      const server = await upstream(answering(OK));
      const transport = open();
      await over(send(transport, request(server.origin)).heard);
      await over(send(transport, request(server.origin, change, pool)).heard);
      expect(server.sockets).toHaveLength(2);
      await until("the old one to close", () => server.sockets[0]?.readableEnded || server.sockets[0]?.destroyed);
    });

    it("the same certificate, read again, does not", async () => {
      const server = await upstream(answering(OK));
      const transport = open();
      for (let i = 0; i < 2; i++)
        await over(send(transport, request(server.origin, {}, { tls: { ca: "same" } })).heard);
      expect(server.sockets).toHaveLength(1);
    });
  });

  it("closed, it ends every call", async () => {
    const server = await upstream(() => {});
    const transport = create();
    const sent = send(transport, request(server.origin, {}, { connections: 1 }));
    const waiting = send(transport, request(server.origin, {}, { connections: 1 }));
    await until("the request", () => (server.received[0] ?? "").includes("{}"));
    await transport.close();
    await over(sent.heard);
    await over(waiting.heard);
    for (let i = 0; i < 10; i++) await turn();
    expect(server.sockets).toHaveLength(1);
  });

  it("a header that would end the head never gets on the wire", async () => {
    const server = await upstream(answering(OK));
    const transport = open();
    const evil = request(server.origin, { headers: ["authorization", "Bearer k\r\nx-evil: 1"] });
    const heard = new Heard();
    try {
      transport.send(evil, heard);
      await over(heard);
      expect(heard.error).not.toBeNull();
    } catch (error) {
      expect(String(error)).toMatch(/header/);
    }
    expect(server.received.join()).not.toContain("x-evil");
    await over(send(transport, request(server.origin)).heard);
  });
});

describe("our own client's connections", () => {
  function heardOf(transport: Transport, what: UpstreamRequest): Heard {
    const heard = new Heard();
    transport.send(what, heard);
    return heard;
  }

  it("that do not come in time are given up: the next call makes one of its own", async () => {
    // An address of the documentation's network: packets to it are lost, as behind a firewall that drops.
    const clock = new VirtualClock();
    const transport = createTransport(clock);
    closers.push(() => transport.close());
    const heard = heardOf(transport, request("http://192.0.2.1:9", { connectTimeoutMs: 5_000 }, { connections: 1 }));
    await turn();
    if (!heard.over) clock.advance(5_000);
    await until("the error", () => heard.over);
    expect(heard.log).toEqual(["error"]);
    // Where there is no route, it fails before its time.
    expect(heard.error).toMatch(/^connect(_timeout)?$/);
    expect(clock.timers).toBe(0);
    const next = heardOf(transport, request("http://192.0.2.1:9", { connectTimeoutMs: 5_000 }, { connections: 1 }));
    await turn();
    if (!next.over) clock.advance(5_000);
    await until("the error", () => next.over);
  });

  it("that were idle for long are not used again, those of a moment ago are", async () => {
    const clock = new VirtualClock();
    const transport = createTransport(clock);
    closers.push(() => transport.close());
    const server = await upstream(answering(OK));
    for (const [wait, connections] of [
      [0, 1],
      [3_000, 1],
      [5_000, 2],
    ] as const) {
      clock.advance(wait);
      const heard = heardOf(transport, request(server.origin));
      await until("the end", () => heard.over);
      expect(server.sockets).toHaveLength(connections);
    }
  });

  it("keep to the time their server names", async () => {
    const clock = new VirtualClock();
    const transport = createTransport(clock);
    closers.push(() => transport.close());
    const server = await upstream(
      answering("HTTP/1.1 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: 5\r\n\r\nhello"),
    );
    for (const wait of [0, 50_000, 60_000]) {
      clock.advance(wait);
      const heard = heardOf(transport, request(server.origin));
      await until("the end", () => heard.over);
    }
    expect(server.sockets).toHaveLength(2);
  });

  it("over which something comes that nobody asked for are not trusted further", async () => {
    const transport = createTransport(systemClock);
    closers.push(() => transport.close());
    const server = await upstream(answering(OK));
    const first = heardOf(transport, request(server.origin));
    await until("the end", () => first.over);
    server.sockets[0]?.write("HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n");
    await until("the close", () => server.sockets[0]?.readableEnded || server.sockets[0]?.destroyed);
    const second = heardOf(transport, request(server.origin));
    await until("the end", () => second.over);
    expect(second).toMatchObject({ status: 200, text: "hello" });
  });

  it("on which an answer came before all of the request was out are not used again", async () => {
    const transport = createTransport(systemClock);
    closers.push(() => transport.close());
    const server = await upstream((socket, _text, index) => {
      if (index === 0) {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
      } else socket.write(OK);
    });
    const first = heardOf(transport, request(server.origin, { body: Buffer.alloc(16 * 1024 * 1024) }));
    await until("the end", () => first.over);
    expect(first.status).toBe(413);
    const second = heardOf(transport, request(server.origin));
    await until("the end", () => second.over);
    expect(second).toMatchObject({ status: 200, text: "hello" });
    expect(server.sockets).toHaveLength(2);
  });

  it("of pools that a reload has put out of use end with the transport, and none is made after it", async () => {
    const transport = createTransport(systemClock);
    const server = await upstream(() => {});
    const calls = [
      heardOf(transport, request(server.origin)),
      heardOf(transport, request(server.origin, {}, { connections: 9 })),
    ];
    await until("the requests", () => server.received.filter((text) => text.includes("{}")).length === 2);
    transport.retain(new Set());
    expect(calls.map(({ log }) => log)).toEqual([["sent"], ["sent"]]);
    await transport.close();
    for (const heard of calls) {
      await until("the end", () => heard.over);
      expect(heard).toMatchObject({ error: "reset", log: ["sent", "error"] });
    }
    for (const socket of server.sockets) await until("the close", () => socket.readableEnded || socket.destroyed);
    expect(() => transport.send(request(server.origin), new Heard())).toThrow(/closed/);
  });
});
