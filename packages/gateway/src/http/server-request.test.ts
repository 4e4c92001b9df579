import { once } from "node:events";
import { createServer, IncomingMessage, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postHead, type RawClient, rawClient } from "../../test/support/raw-client.ts";
import { until } from "../../test/support/until.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { readBody } from "./body.ts";
import { exchangeParts, HttpExchange } from "./exchange.ts";
import { ServerRequest, serverRequests } from "./server-request.ts";

const CHUNKED = { "transfer-encoding": "chunked" };
const read = (exchange: HttpExchange, bytesMax = 1_000_000): Promise<Buffer> =>
  readBody(exchange, { bytesMax, timeoutMs: 60_000 }, systemClock);
const code = (error: unknown): string => (error instanceof GatewayError ? error.code : String(error));

/** A body past the stream is held against one through it: the same server, but for the class of its requests. */
describe.each([
  ["past the stream", serverRequests()],
  ["through the stream", IncomingMessage],
])("a body %s", (_name, kind) => {
  let act: (exchange: HttpExchange) => void = () => {};
  let server: Server;
  let exchanges: HttpExchange[] = [];
  const clients: RawClient[] = [];

  beforeAll(async () => {
    const parts = exchangeParts(5_000);
    const take = (exchange: HttpExchange): void => {
      exchanges.push(exchange);
      act(exchange);
    };
    server = createServer({ IncomingMessage: kind }, (request, response) =>
      take(new HttpExchange(request, response, parts)),
    );
    server.on("checkContinue", (request, response) => take(new HttpExchange(request, response, parts, true)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(() => {
    for (const each of clients.splice(0)) each.socket.destroy();
    exchanges = [];
  });

  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  async function client(...bytes: (string | Uint8Array)[]): Promise<RawClient> {
    const made = await rawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...bytes);
    clients.push(made);
    return made;
  }

  const nth = (index: number): Promise<HttpExchange> => until("the request", () => exchanges[index]);
  const answers = (of: RawClient, count: number) =>
    until(`${count} answers`, () => of.answers().length >= count && of.answers());

  /** Reads at once, or when some of the body may have come, or as any other reader does; answers with what it got. */
  const READERS: Record<string, (exchange: HttpExchange) => Promise<Buffer>> = {
    "/at-once": (exchange) => read(exchange),
    "/later": async (exchange) => {
      await turn();
      return read(exchange);
    },
    "/after-a-tick": async (exchange) => {
      await null;
      return read(exchange);
    },
    "/elsewhere": async ({ request }) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
  const echo = (exchange: HttpExchange): void => {
    const reader = READERS[exchange.path];
    if (!reader) throw new Error(exchange.path);
    void reader(exchange).then((body) => exchange.respond(200, [], body));
  };

  it("is whole, of every one of many requests, whoever reads it and however it is framed and cut", async () => {
    const request = fc.record({
      path: fc.constantFrom(...Object.keys(READERS)),
      framing: fc.constantFrom("length", "chunks", "chunks and trailers"),
      size: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(0, 1, 16_384, 65_536, 150_000)),
      pieces: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 4 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
        async (asked, cuts) => {
          act = echo;
          const bodies = asked.map(({ size }, index) => String.fromCharCode(97 + index).repeat(size));
          const all = asked.map(({ path, framing, size, pieces }, index) => {
            const body = bodies[index] ?? "";
            if (framing === "length") return postHead(path, { "content-length": size }) + body;
            const step = Math.max(1, Math.ceil(size / pieces));
            let text = postHead(path, CHUNKED);
            for (let at = 0; at < size; at += step) {
              const piece = body.slice(at, at + step);
              text += `${piece.length.toString(16)}\r\n${piece}\r\n`;
            }
            return `${text}0\r\n${framing === "chunks" ? "" : "x-sum: 1\r\n"}\r\n`;
          });
          const bytes = all.join("");
          const one = await client();
          let from = 0;
          for (const at of [...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b), bytes.length]) {
            one.socket.write(bytes.slice(from, at));
            from = at;
            await turn();
          }
          const got = await answers(one, asked.length);
          expect(got.map(({ body }) => body)).toEqual(bodies);
          one.socket.destroy();
        },
      ),
      { numRuns: 60 },
    );
  });

  it("has its trailers", async () => {
    let trailers: unknown;
    act = (exchange) =>
      void read(exchange).then((body) => {
        trailers = exchange.request.trailers;
        exchange.respond(200, [], body);
      });
    const one = await client(`${postHead("/", CHUNKED)}2\r\nab\r\n0\r\nX-Sum: 7\r\n\r\n`);
    expect(await answers(one, 1)).toMatchObject([{ body: "ab" }]);
    expect(trailers).toEqual({ "x-sum": "7" });
  });

  it("is none of a GET, a HEAD or a length of nothing, and the connection goes on", async () => {
    act = (exchange) => void read(exchange).then((body) => exchange.respond(200, ["x-n", String(body.length)], "w"));
    const one = await client("HEAD / HTTP/1.1\r\nhost: h\r\n\r\n");
    await until("the head", () => one.received().includes("\r\n\r\n"));
    expect(one.received().toString()).toMatch(/x-n: 0\r\n[\s\S]*\r\n\r\n$/);
    const two = await client("GET / HTTP/1.1\r\nhost: h\r\n\r\n", postHead("/", { "content-length": 0 }));
    expect(await answers(two, 2)).toMatchObject([{ headers: { "x-n": "0" } }, { headers: { "x-n": "0" } }]);
  });

  it("is that of a plain request where a client wants to upgrade; a CONNECT is closed", async () => {
    act = echo;
    const head = postHead("/at-once", { connection: "upgrade", upgrade: "websocket", "content-length": 2 });
    expect(await answers(await client(`${head}ab`), 1)).toMatchObject([{ status: 200, body: "ab" }]);
    const tunnel = await client("CONNECT h:1 HTTP/1.1\r\nhost: h\r\n\r\n");
    await tunnel.closed();
    expect(tunnel.received()).toHaveLength(0);
  });

  it("is asked for before it is read, also late", async () => {
    act = echo;
    for (const path of ["/at-once", "/later"]) {
      const one = await client(postHead(path, { "content-length": 5, expect: "100-continue" }));
      await until("the 100", () => one.received().includes("100 Continue"));
      one.socket.write("hello");
      expect(await answers(one, 1)).toMatchObject([{ body: "hello" }]);
    }
  });

  it("that is over the bound is not read on, and what still comes is dropped for the answer", async () => {
    let refused: unknown;
    act = (exchange) =>
      void read(exchange, 1_000).catch((error: unknown) => {
        refused = error;
      });
    const one = await client(postHead("/", CHUNKED));
    for (let i = 0; i < 400; i++) one.socket.write(`8000\r\n${"x".repeat(32_768)}\r\n`);
    const exchange = await nth(0);
    await until("the refusal", () => refused);
    const { socket } = exchange.request;
    await until("the pause", () => socket.isPaused());
    expect(socket.bytesRead).toBeLessThan(1_000_000);
    exchange.respond(413, [], code(refused));
    one.socket.write("0\r\n\r\n");
    expect(await answers(one, 1)).toMatchObject([
      { status: 413, body: "request_too_large", headers: { connection: "close" } },
    ]);
    await until("all of it", () => socket.bytesRead > 400 * 32_768);
  });

  it("over the bound, and whole by the time of the answer, costs the connection nothing", async () => {
    act = (exchange) =>
      void read(exchange, 3).catch(async (error: unknown) => {
        await turn();
        exchange.respond(413, [], code(error));
      });
    const bytes = `${postHead("/", CHUNKED)}4\r\nabcd\r\n5\r\nefghi\r\n0\r\n\r\n`;
    const one = await client(bytes);
    await answers(one, 1);
    one.socket.write(bytes);
    expect((await answers(one, 2)).map(({ headers }) => headers["connection"])).toEqual(["keep-alive", "keep-alive"]);
  });

  it.each<[string, (socket: Socket) => void]>([
    ["leaves", (socket) => socket.destroy()],
    ["resets", (socket) => socket.resetAndDestroy()],
    ["closes its side", (socket) => socket.end()],
    ["breaks the framing", (socket) => socket.write("no size\r\n")],
  ])("of a client that %s within it is given up", async (_how, leave) => {
    let error: unknown;
    act = (exchange) =>
      void read(exchange).catch((thrown: unknown) => {
        error = thrown;
      });
    const one = await client(`${postHead("/", CHUNKED)}5\r\nhello\r\n`);
    const exchange = await nth(0);
    leave(one.socket);
    await until("the end", () => error);
    expect(code(error)).toBe("cancelled");
    expect(exchange.cancel.reason).toBe("client_left");
    expect(exchange.request.aborted).toBe(true);
  });

  it("that is whole is no worse for its client's leaving, which is noticed", async () => {
    let body: Buffer | undefined;
    let failed = false;
    act = (exchange) =>
      void read(exchange).then(
        (all) => {
          body = all;
        },
        () => {
          failed = true;
        },
      );
    const one = await client(`${postHead("/", { "content-length": 2 })}ab`);
    await until("the body", () => body);
    const exchange = await nth(0);
    one.socket.destroy();
    await until("the cancellation", () => exchange.cancel.cancelled);
    await turn();
    expect(exchange.request.aborted).toBe(false);
    expect(failed).toBe(false);
  });

  it("behind another request's on its connection is given up with that", async () => {
    const errors: unknown[] = [];
    act = (exchange) => void read(exchange).catch((error: unknown) => errors.push(code(error)));
    const one = await client(`${postHead("/", { "content-length": 2 })}ab${postHead("/", { "content-length": 5 })}he`);
    await nth(1);
    one.socket.destroy();
    await until("the error", () => errors.length > 0);
    expect(errors).toEqual(["cancelled"]);
  });

  it("is let go of with its answer", async () => {
    act = echo;
    const one = await client(`${postHead("/at-once", { "content-length": 2 })}ab`);
    await answers(one, 1);
    const { request } = await nth(0);
    await turn();
    const { parser } = request.socket as Socket & { parser: { incoming: unknown } };
    expect(parser.incoming).toBeNull();
    expect(request.readableEnded).toBe(true);
  });
});

describe("the body of a request", () => {
  it("is handed out once, and not when some of it has come", async () => {
    const taken: boolean[] = [];
    const sink = { data: (): void => {}, end: (): void => {}, error: (): void => {} };
    const server = createServer({ IncomingMessage: ServerRequest }, async (request, response) => {
      if (request.url === "/late") await turn();
      taken.push(request.takeBody(sink), request.takeBody(sink));
      request.resume();
      response.end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const path of ["/", "/late"]) {
      const one = await rawClient(url, `${postHead(path, { "content-length": 2, connection: "close" })}ab`);
      await one.take();
    }
    server.close();
    expect(taken).toEqual([true, false, false, false]);
  });
});
