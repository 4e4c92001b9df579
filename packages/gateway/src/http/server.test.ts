import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { postHead, type RawClient, rawClient } from "../../test/support/raw-client.ts";
import { until } from "../../test/support/until.ts";
import { VirtualClock } from "../../test/support/virtual-clock.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { LIMITS } from "../core/limits.ts";
import { readBody } from "./body.ts";
import type { Exchange, HttpExchange } from "./exchange.ts";
import { createHttpServer, type HttpServer } from "./server.ts";

interface Served {
  url: string;
  server: HttpServer;
  exchanges: Exchange[];
}

const open: (Served | RawClient)[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) {
    if ("server" in each) await each.server.drain(0);
    else each.socket.destroy();
  }
});

async function serve(onRequest: (exchange: Exchange) => void, clientHeadersMs = 15_000): Promise<Served> {
  const exchanges: Exchange[] = [];
  const server = createHttpServer(
    (exchange) => {
      exchanges.push(exchange);
      onRequest(exchange);
    },
    (kind) => ({
      status: { bad_request: "400 Bad Request", headers_too_large: "431 Too Large", timeout: "408 Timeout" }[kind],
      body: kind,
    }),
    { ...LIMITS, clientHeadersMs },
  );
  const port = await server.listen("127.0.0.1", 0);
  const served = { url: `http://127.0.0.1:${port}`, server, exchanges };
  open.push(served);
  return served;
}

async function client(served: Served, ...bytes: (string | Uint8Array)[]): Promise<RawClient> {
  const made = await rawClient(served.url, ...bytes);
  open.push(made);
  return made;
}

/** Answers with the body's length, or with the error's code. */
function echoing(bytesMax = 1_000, clock: Clock = systemClock): (exchange: Exchange) => void {
  return (exchange) => {
    readBody(exchange, { bytesMax, timeoutMs: 60_000 }, clock).then(
      (body) => exchange.respond(200, ["content-type", "text/plain"], `${body.length}`),
      (error: unknown) =>
        exchange.respond(
          error instanceof GatewayError ? error.status : 500,
          [],
          error instanceof GatewayError ? error.code : "fault",
        ),
    );
  };
}

const answersOf = (of: RawClient, count = 1) =>
  until(`${count} answers`, () => of.answers().length >= count && of.answers());
const get = (path = "/"): string => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`;

describe("a request's headers", () => {
  it.each([
    ["", false],
    ["X-Sluicegate-User: u\r\n", true],
    ["accept: */*\r\nx-sluicegate-tags: {}\r\n", true],
    ["x-sluicegat: x-sluicegate-a\r\n", false],
    ["8-sluicegate-user: u\r\n", false],
    ["x: y\r\n", false],
  ])("%j begin so: %s", async (lines, sent) => {
    const served = await serve((exchange) => exchange.respond(200, [], String(exchange.sends("x-sluicegate-"))));
    const from = await client(served, `GET / HTTP/1.1\r\nhost: h\r\n${lines}\r\n`);
    const [answer] = await answersOf(from);
    expect(answer?.body).toBe(String(sent));
  });
});

describe("an answer", () => {
  it("is whole, with its length, and the connection stays for the next request", async () => {
    const served = await serve((exchange) =>
      exchange.respond(200, ["x-a", "b"], `${exchange.method} ${exchange.path} ${exchange.query}`),
    );
    const one = await client(served, get("/a/b?c=d&e?f"));
    const [first] = await answersOf(one);
    expect(first).toMatchObject({
      status: 200,
      body: "GET /a/b c=d&e?f",
      headers: { "x-a": "b", "content-length": "16" },
    });
    expect(first?.headers["connection"]).not.toBe("close");
    one.socket.write(get("/again"));
    expect((await answersOf(one, 2))[1]?.body).toBe("GET /again ");
  });

  it("to HEAD has the same head and no body, and the connection stays", async () => {
    const served = await serve((exchange) => exchange.respond(200, [], "words"));
    const one = await client(served, "HEAD / HTTP/1.1\r\nhost: h\r\n\r\n");
    await until("the head", () => one.received().includes("\r\n\r\n"));
    expect(one.received().toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*content-length: 5\r\n[\s\S]*\r\n\r\n$/i);
    expect(one.received().toString()).not.toMatch(/connection: close/i);
  });

  it.each([
    ["short", 1],
    ["long", 50_000],
  ])("in text of Latin-1 is the same bytes as a buffer, %s", async (_length, times) => {
    const bytes = Buffer.from("é€ \u0000\r\n".repeat(times));
    const text = bytes.toString("latin1");
    const served = await serve((exchange) =>
      readBody(exchange, { bytesMax: 10, timeoutMs: 60_000 }, systemClock).then(
        () => exchange.respond(200, [], exchange.path === "/text" ? text : bytes, "latin1"),
        // Too large: answered while the client still sends, and then closed.
        () => exchange.respond(413, [], exchange.path === "/text" ? text : bytes, "latin1"),
      ),
    );
    const received = async (path: string, ...more: string[]): Promise<Buffer> => {
      const one = await client(served, `POST ${path} HTTP/1.1\r\nhost: h\r\n${more.join("\r\n")}`);
      return until("the answer", () => {
        const all = one.received();
        const at = all.indexOf("\r\n\r\n");
        return at !== -1 && all.length - at - 4 >= bytes.length ? all.subarray(at + 4) : null;
      });
    };
    for (const path of ["/text", "/buffer"]) {
      expect((await received(path, "content-length: 2", "", "{}")).equals(bytes)).toBe(true);
      expect((await received(path, "content-length: 200000", "", "x")).equals(bytes)).toBe(true);
    }
  });

  it("goes out once", async () => {
    const served = await serve((exchange) => {
      exchange.respond(200, [], "one");
      exchange.respond(500, [], "two");
      exchange.begin(200, []);
    });
    expect(await answersOf(await client(served, get()))).toMatchObject([{ status: 200, body: "one" }]);
  });

  it("that goes in pieces ends as a stream does", async () => {
    const served = await serve((exchange) => {
      exchange.begin(200, ["content-type", "text/event-stream"]);
      expect(exchange.headSent).toBe(true);
      exchange.write(Buffer.from("a"));
      exchange.write(Buffer.from("b"));
      exchange.end(Buffer.from("c"));
      exchange.end();
    });
    const one = await client(served, get());
    expect(await answersOf(one)).toMatchObject([{ body: "abc", headers: { "transfer-encoding": "chunked" } }]);
    one.socket.write(get());
    await answersOf(one, 2);
  });
});

describe("a connection answered before its body was read", () => {
  const refusing = (exchange: Exchange): void => exchange.respond(401, [], "who are you?");

  it.each([
    ["all of a small body in the same packet", `${postHead("/", { "content-length": 5 })}hello`],
    ["no body at all", postHead("/", { "content-length": 0 })],
    ["no length", postHead("/", {})],
  ])("carries the next request: %s", async (_name, bytes) => {
    const served = await serve(refusing);
    const one = await client(served, bytes);
    const [first] = await answersOf(one);
    expect(first?.status).toBe(401);
    expect(first?.headers["connection"]).not.toBe("close");
    one.socket.write(bytes);
    expect(await answersOf(one, 2)).toHaveLength(2);
  });

  it("carries the next request also when a small body comes late", async () => {
    const served = await serve(refusing);
    const one = await client(served, postHead("/", { "content-length": 5 }));
    await answersOf(one);
    one.socket.write(`hel`);
    one.socket.write(`lo${postHead("/", { "content-length": 2 })}ab`);
    expect(await answersOf(one, 2)).toMatchObject([{ status: 401 }, { status: 401 }]);
  });

  it.each([
    ["a large body", postHead("/", { "content-length": 10_000_000 })],
    ["a body without a length", `${postHead("/", { "transfer-encoding": "chunked" })}5\r\nhello\r\n`],
    ["a body it keeps until it is asked for", postHead("/", { "content-length": 5, expect: "100-continue" })],
  ])("is closed, and says so: %s", async (_name, bytes) => {
    const served = await serve(refusing);
    const one = await client(served, bytes);
    const [first] = await answersOf(one);
    expect(first).toMatchObject({ status: 401, headers: { connection: "close" } });
    expect(one.received().toString()).not.toContain("100 Continue");
    one.socket.end();
    await one.closed();
  });
});

describe("a connection that had its last answer", () => {
  // One that waited for its turn has lost it; one that comes now must not be taken for it.
  it.each(["GET / HTTP/1.1\r\nhost: h\r\n\r\n", "GET / HTTP/1.1\r\nhost: h\r\nexpect: more\r\n\r\n"])(
    "answers none of those that were sent behind: %j",
    async (late) => {
      const served = await serve((exchange) => exchange.respond(401, [], "no"));
      const refused = "POST / HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\nbody";
      // More than one read brings: the last ones are parsed when the first one's answer is out.
      const large = `POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 70000\r\n\r\n${"x".repeat(70_000)}`;
      const sender = await client(served, refused + get() + large + late.repeat(3));
      await until("it is closed", () => sender.socket.destroyed);
      expect(sender.answers().map(({ status }) => status)).toEqual([401]);
      expect(await answersOf(await client(served, get()))).toMatchObject([{ status: 401 }]);
    },
  );
});

describe("a request's body", () => {
  it.each([
    ["with a length", `${postHead("/", { "content-length": 5 })}hello`, 5],
    ["in chunks", `${postHead("/", { "transfer-encoding": "chunked" })}3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n`, 5],
    ["of none", postHead("/", {}), 0],
    ["of exactly the bound", `${postHead("/", { "content-length": 1_000 })}${"x".repeat(1_000)}`, 1_000],
    ["called identity", `${postHead("/", { "content-length": 2, "content-encoding": "Identity" })}ab`, 2],
  ])("%s is read whole", async (_name, bytes, length) => {
    const served = await serve(echoing());
    expect(await answersOf(await client(served, bytes))).toMatchObject([{ status: 200, body: `${length}` }]);
  });

  it("in packets of one byte is read whole", async () => {
    const served = await serve(echoing());
    const one = await client(served);
    for (const byte of `${postHead("/", { "content-length": 5 })}hello`) one.socket.write(byte);
    expect(await answersOf(one)).toMatchObject([{ body: "5" }]);
  });

  it.each([
    ["of a declared length over the bound", postHead("/", { "content-length": 1_001 }), 413, "request_too_large"],
    [
      "in chunks over the bound",
      `${postHead("/", { "transfer-encoding": "chunked" })}3e9\r\n${"x".repeat(1_001)}\r\n`,
      413,
      "request_too_large",
    ],
    ["compressed", `${postHead("/", { "content-length": 2, "content-encoding": "gzip" })}ab`, 400, "invalid_request"],
    [
      "compressed twice",
      `${postHead("/", { "content-length": 2, "content-encoding": "gzip, br" })}ab`,
      400,
      "invalid_request",
    ],
  ])("%s is refused", async (_name, bytes, status, code) => {
    const served = await serve(echoing());
    expect(await answersOf(await client(served, bytes))).toMatchObject([{ status, body: code }]);
  });

  it("is asked for only by whoever will read it", async () => {
    const served = await serve(echoing());
    const head = (length: number): string => postHead("/", { "content-length": length, expect: "100-continue" });
    const small = await client(served, head(5));
    await until("the 100", () => small.received().includes("100 Continue"));
    small.socket.write("hello");
    expect(await answersOf(small)).toMatchObject([{ status: 200, body: "5" }]);
    const large = await client(served, head(1_001));
    expect(await answersOf(large)).toMatchObject([{ status: 413 }]);
    expect(large.received().toString()).not.toContain("100 Continue");
  });

  it("that does not come in time is given up, and no timer is left of one that came", async () => {
    const clock = new VirtualClock();
    const served = await serve(echoing(1_000, clock));
    const slow = await client(served, `${postHead("/", { "content-length": 5 })}he`);
    await until("the request", () => served.exchanges.length === 1);
    clock.advance(59_999);
    expect(slow.answers()).toEqual([]);
    clock.advance(1);
    expect(await answersOf(slow)).toMatchObject([
      { status: 408, body: "request_timeout", headers: { connection: "close" } },
    ]);
    const quick = await client(served, `${postHead("/", { "content-length": 2 })}ab`);
    await answersOf(quick);
    expect(clock.timers).toBe(0);
  });

  it("of a client that leaves is given up at once", async () => {
    const clock = new VirtualClock();
    const errors: unknown[] = [];
    const served = await serve(
      (exchange) =>
        void readBody(exchange, { bytesMax: 10, timeoutMs: 1_000 }, clock).catch((error: unknown) =>
          errors.push(error),
        ),
    );
    const one = await client(served, `${postHead("/", { "content-length": 5 })}he`);
    await until("the request", () => served.exchanges.length === 1);
    one.socket.destroy();
    await until("the error", () => errors.length === 1);
    expect(errors).toMatchObject([{ code: "cancelled" }]);
    expect(clock.timers).toBe(0);
  });

  it("of a client that has already left is not waited for", async () => {
    const clock = new VirtualClock();
    const served = await serve(() => {});
    const one = await client(served, postHead("/", { "content-length": 5 }));
    const exchange: Exchange = await until("the request", () => served.exchanges[0]);
    one.socket.destroy();
    await until("the cancellation", () => exchange.cancel.cancelled);
    await expect(readBody(exchange, { bytesMax: 10, timeoutMs: 1_000 }, clock)).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(clock.timers).toBe(0);
  });
});

describe("a client that leaves", () => {
  it.each<[string, (exchange: Exchange) => void]>([
    ["before the answer", () => {}],
    [
      "within a stream",
      (exchange) => {
        exchange.begin(200, []);
        exchange.write(Buffer.from("a"));
      },
    ],
  ])("%s is noticed", async (_name, act) => {
    const served = await serve(act);
    const one = await client(served, get());
    const exchange: Exchange = await until("the request", () => served.exchanges[0]);
    await turn();
    one.socket.destroy();
    await until("the cancellation", () => exchange.cancel.cancelled);
    expect(exchange.cancel.reason).toBe("client_left");
    // Whatever is still said to it goes nowhere, quietly.
    expect(exchange.write(Buffer.alloc(1_000_000))).toBe(true);
    exchange.respond(200, [], "x");
    exchange.begin(200, []);
    exchange.end();
  });

  it("half-closing its side is leaving too", async () => {
    const served = await serve(() => {});
    const one = await client(served, get());
    const exchange: Exchange = await until("the request", () => served.exchanges[0]);
    one.socket.end();
    await until("the cancellation", () => exchange.cancel.cancelled);
  });

  it.each<[string, (exchange: Exchange) => void]>([
    ["a whole answer", (exchange) => exchange.respond(200, [], "words")],
    [
      "a stream",
      (exchange) => {
        exchange.begin(200, []);
        exchange.end(Buffer.from("words"));
      },
    ],
  ])("after %s has not left anything", async (_name, act) => {
    const served = await serve(act);
    const one = await client(served, get());
    await answersOf(one);
    one.socket.destroy();
    for (let i = 0; i < 20; i++) await turn();
    expect(served.exchanges[0]?.cancel.cancelled).toBe(false);
  });
});

describe("a slow reader", () => {
  it("is told of, and of its catching up; memory stays small", async () => {
    const served = await serve((exchange) => exchange.begin(200, []));
    const one = await client(served, get());
    const exchange: Exchange = await until("the request", () => served.exchanges[0]);
    one.socket.pause();
    let drained = 0;
    exchange.onDrain(() => drained++);
    // Smaller than the socket's high-water mark: node tells of every larger piece that it is out.
    const piece = Buffer.alloc(8_192, 120);
    let written = 0;
    while (exchange.write(piece)) {
      written += piece.length;
      if (written > 64 * 1024 * 1024) throw new Error("never behind");
      await turn();
    }
    expect(exchange.response.writableLength).toBeLessThan(256 * 1024);
    expect(drained).toBe(0);
    one.socket.resume();
    await until("the drain", () => drained > 0);
    exchange.end();
    await answersOf(one);
  });

  it("is not forgotten: each time it is behind, it is told of once it has caught up", async () => {
    const served = await serve((exchange) => {
      exchange.begin(200, []);
      let left = 200;
      const pump = (): void => {
        while (left-- > 0) if (!exchange.write(Buffer.alloc(40_000, 120))) return;
        exchange.end();
      };
      exchange.onDrain(pump);
      pump();
    });
    const [answer] = await answersOf(await client(served, get()));
    expect(answer?.body).toHaveLength(200 * 40_000);
  });
});

describe("what is not quite HTTP", () => {
  it.each([
    ["no HTTP", "hello\r\n\r\n", 400],
    ["a TLS hello", Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]), 400],
    ["no host", "GET / HTTP/1.1\r\n\r\n", 400],
    [
      "a length and chunks",
      "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
      400,
    ],
    [
      "a header over the bound",
      `GET / HTTP/1.1\r\nhost: h\r\nx: ${"x".repeat(LIMITS.headerBytesMax + 1)}\r\n\r\n`,
      431,
    ],
    [
      "more headers than the bound",
      `GET / HTTP/1.1\r\nhost: h\r\n${"a: b\r\n".repeat(LIMITS.headerCountMax)}\r\n`,
      431,
    ],
  ])("%s is refused with an answer", async (_name, bytes, status) => {
    const served = await serve((exchange) => exchange.respond(200, [], "fine"));
    const one = await client(served, bytes);
    const [answer] = await answersOf(one);
    expect(answer).toMatchObject({ status, headers: { connection: "close" } });
    await one.closed();
  });

  it("headers that do not come in time are refused with an answer", async () => {
    const served = await serve(() => {}, 50);
    const one = await client(served, "GET / HTTP/1.1\r\nhost:");
    expect(await answersOf(one)).toMatchObject([{ status: 408 }]);
  });

  it("behind a request whose answer is about to go says nothing", async () => {
    const served = await serve((exchange) => {
      exchange.respond(200, [], "x");
      const { request } = exchange as HttpExchange;
      served.server.node.emit("clientError", new Error("no HTTP"), request.socket);
    });
    const one = await client(served, get());
    await one.closed();
    expect(one.received()).toHaveLength(0);
  });

  it("behind a request whose answer is under way never speaks into it", async () => {
    const served = await serve((exchange) => {
      exchange.begin(200, []);
      exchange.write(Buffer.from("part"));
    });
    const one = await client(served, get());
    await until("the part", () => one.received().includes("part"));
    one.socket.write("this is no HTTP\r\n\r\n");
    await one.closed();
    expect(one.received().toString()).not.toContain("400");
    await until("the cancellation", () => served.exchanges[0]?.cancel.cancelled);
  });
});

describe("draining", () => {
  it("lets a running answer end, closes what is idle or fresh, and is then over at once", async () => {
    const served = await serve((exchange) => {
      if (exchange.path === "/idle") exchange.respond(200, [], "x");
      else exchange.begin(200, []);
    });
    const idle = await client(served, get("/idle"));
    await answersOf(idle);
    const fresh = await client(served);
    const running = await client(served, get("/run"));
    const exchange = await until("the request", () => served.exchanges.find((each) => each.path === "/run"));
    let over = false;
    const drained = served.server.drain(30_000).then(() => {
      over = true;
    });
    await Promise.all([idle.closed(), fresh.closed()]);
    expect(over).toBe(false);
    exchange.end(Buffer.from("done"));
    expect(await answersOf(running)).toMatchObject([{ body: "done" }]);
    await drained;
    await expect(fetch(served.url)).rejects.toThrow();
  }, 10_000);

  it("answers what a new connection has sent, however late it is read", async () => {
    const served = await serve((exchange) => exchange.respond(200, [], "in time"));
    const accepted = once(served.server.node, "connection");
    const fresh = await client(served);
    await accepted;
    const drained = served.server.drain(30_000);
    fresh.socket.write(get());
    // The loop is held up until after the next look at connections without a request: this one's is there, and unread.
    const busyUntil = performance.now() + 120;
    while (performance.now() < busyUntil);
    expect(await answersOf(fresh)).toMatchObject([{ body: "in time" }]);
    await drained;
  });

  it("ends what does not end in time", async () => {
    const served = await serve((exchange) => exchange.begin(200, []));
    const one = await client(served, get());
    await until("the request", () => served.exchanges.length === 1);
    await served.server.drain(20);
    await one.closed();
  });
});

it("a port that is taken is an error, and no crash", async () => {
  const served = await serve(() => {});
  const other = createHttpServer(
    () => {},
    () => ({ status: "400 Bad", body: "" }),
  );
  await expect(other.listen("127.0.0.1", Number(new URL(served.url).port))).rejects.toMatchObject({
    code: "EADDRINUSE",
  });
});
