import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchangeParts, HttpExchange } from "./exchange.ts";

/** What is done with the next request. */
let act: (exchange: HttpExchange, response: ServerResponse) => void = () => {};
let server: Server;

beforeAll(async () => {
  const parts = exchangeParts(5_000);
  server = createServer((request, response) => act(new HttpExchange(request, response, parts), response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A client that gathers what comes, until the connection ends. */
async function ask(version: string): Promise<{ socket: Socket; bytes: Promise<Buffer> }> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  const bytes = once(socket, "close").then(() => Buffer.concat(pieces));
  socket.write(`GET / HTTP/${version}\r\nhost: h\r\nconnection: close\r\n\r\n`);
  return { socket, bytes };
}

/** Sends `sizes` as pieces of a stream, waiting where the client is behind; `turns`: before which pieces the loop turns. */
async function stream(exchange: HttpExchange, pieces: readonly Buffer[], turns: ReadonlySet<number>): Promise<void> {
  exchange.begin(200, ["x-a", "1"]);
  for (const [index, piece] of pieces.entries()) {
    if (turns.has(index)) await turn();
    if (!exchange.write(piece)) await new Promise<void>((resolve) => exchange.onDrain(resolve));
  }
  exchange.end(Buffer.from("end"));
}

const sizes = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constantFrom(0, 16_372, 16_373, 16_384, 65_536, 65_537));

describe("a stream", () => {
  it.each([
    ["in chunks", "1.1", (bytes: Buffer) => `${bytes.length.toString(16)}\r\n${bytes.toString("latin1")}\r\n`],
    ["until its connection closes", "1.0", (bytes: Buffer) => bytes.toString("latin1")],
  ])("%s is byte for byte what was written, whatever the pieces", async (_name, version, framed) => {
    await fc.assert(
      fc.asyncProperty(fc.array(sizes, { maxLength: 12 }), fc.array(fc.nat({ max: 11 })), async (all, turns) => {
        const pieces = all.map((size, index) => Buffer.alloc(size, 97 + index));
        let sent: Promise<void> | undefined;
        act = (exchange) => {
          sent = stream(exchange, pieces, new Set(turns));
        };
        const { bytes } = await ask(version);
        const text = (await bytes).toString("latin1");
        await sent;
        const body = [...pieces, Buffer.from("end")].filter(({ length }) => length > 0).map(framed);
        const end = version === "1.1" ? "0\r\n\r\n" : "";
        const at = text.indexOf("\r\n\r\n") + 4;
        expect(text.slice(0, at)).toMatch(/^HTTP\/1\.1 200 OK\r\nx-a: 1\r\n/);
        expect(text.slice(at) === body.join("") + end).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("goes past the response once its head is out, and says nothing more after its end", async () => {
    let written = 0;
    act = (exchange, response) => {
      exchange.begin(200, []);
      exchange.write(Buffer.from("one"));
      const write = response.write.bind(response);
      response.write = ((...args: Parameters<typeof write>) => {
        written++;
        return write(...args);
      }) as typeof response.write;
      // The first piece has gone out at once: nothing waits.
      exchange.write(Buffer.from("two"));
      expect(written).toBe(0);
      exchange.end();
      response.on("error", () => {});
      exchange.write(Buffer.from("late"));
    };
    const { bytes } = await ask("1.1");
    expect((await bytes).toString().split("\r\n\r\n").slice(1).join("|")).toBe("3\r\none\r\n3\r\ntwo\r\n0|");
  });

  it("that waits in the middle of small pieces is what was written, though none of them is kept", async () => {
    const texts = Array.from({ length: 40 }, (_, index) => `piece ${index}`);
    act = (exchange, response) => {
      const lent = Buffer.alloc(100);
      exchange.begin(200, []);
      exchange.write(Buffer.from("first"));
      for (const [index, text] of texts.entries()) {
        // Every other one stays with the socket for a while.
        if (index % 2 === 0) response.socket?.cork();
        const to = 3 + lent.write(text, 3);
        if (!exchange.pass(lent, 3, to)) exchange.write(Buffer.from(text));
        lent.fill("!");
        if (index % 2 === 1) response.socket?.uncork();
      }
      expect(exchange.pass(lent, 7, 7)).toBe(false);
      exchange.end();
      expect(exchange.pass(lent, 0, 9)).toBe(false);
    };
    const { bytes } = await ask("1.1");
    const text = (await bytes).toString();
    const want = ["first", ...texts, ""].map((each) => `${each.length.toString(16)}\r\n${each}\r\n`).join("");
    expect(text.slice(text.indexOf("\r\n\r\n") + 4)).toBe(want);
  });

  it("keeps a piece that its socket still holds, whatever another stream passes on", async () => {
    const streams: { exchange: HttpExchange; socket: Socket | null }[] = [];
    act = (exchange, { socket }) => {
      exchange.begin(200, []);
      exchange.write(Buffer.from("first"));
      streams.push({ exchange, socket });
    };
    const asked = [await ask("1.1"), await ask("1.1")];
    while (streams.length < 2) await turn();
    // Both are made in the same place, and the first waits.
    streams[0]?.socket?.cork();
    const passed = ["one", "two"].map((text, index) => streams[index]?.exchange.pass(Buffer.from(text), 0, 3));
    streams[0]?.socket?.uncork();
    for (const { exchange } of streams) exchange.end();
    expect(passed).toEqual([true, true]);
    const texts = await Promise.all(asked.map(async ({ bytes }) => (await bytes).toString()));
    expect(texts.map((text) => /\r\n3\r\n(.*?)\r\n/.exec(text)?.[1]).sort()).toEqual(["one", "two"]);
  });

  it("goes past the response to plain sockets alone, which are done with what they have written", async () => {
    const passed: boolean[] = [];
    act = (exchange, response) => {
      class Other extends Socket {}
      const { socket } = response;
      if (socket) Object.setPrototypeOf(socket, Other.prototype);
      exchange.begin(200, []);
      exchange.write(Buffer.from("one"));
      passed.push(exchange.pass(Buffer.from("two"), 0, 3));
      exchange.end();
    };
    expect((await (await ask("1.1")).bytes).toString()).toMatch(/\r\n\r\n3\r\none\r\n0\r\n\r\n$/);
    expect(passed).toEqual([false]);
  });

  it("that waits says so, and when it has gone out", async () => {
    const seen: boolean[] = [];
    let drained: Promise<void> | undefined;
    act = (exchange, response) => {
      exchange.begin(200, []);
      exchange.write(Buffer.from("one"));
      response.socket?.cork();
      // Nothing waits before the first of them; the second waits behind it, and both are more than the buffer takes.
      const size = Math.ceil(response.writableHighWaterMark * 0.6);
      seen.push(exchange.write(Buffer.alloc(size)), exchange.write(Buffer.alloc(size)));
      drained = new Promise((resolve) => exchange.onDrain(resolve));
      response.socket?.uncork();
      void drained.then(() => exchange.end());
    };
    const { bytes } = await ask("1.1");
    await bytes;
    await drained;
    expect(seen).toEqual([true, false]);
  });

  it("says so of a single piece that fills the socket's buffer", async () => {
    let keepsUp: boolean | undefined;
    act = (exchange, response) => {
      exchange.begin(200, []);
      exchange.write(Buffer.from("one"));
      response.socket?.cork();
      keepsUp = exchange.write(Buffer.alloc(response.writableHighWaterMark + 4_000));
      exchange.onDrain(() => exchange.end());
      response.socket?.uncork();
    };
    const { bytes } = await ask("1.1");
    await bytes;
    expect(keepsUp).toBe(false);
  });
});

describe("a whole answer", () => {
  it.each([
    ["text, as UTF-8", "é", undefined, "Ã©"],
    ["text that is bytes", "é", "latin1", "é"],
    ["much text that is bytes", "é".repeat(70_000), "latin1", "é".repeat(70_000)],
    ["bytes", Buffer.from("é"), "latin1", "Ã©"],
  ] as const)("of %s has its length", async (_name, body, encoding, sent) => {
    act = (exchange) => exchange.respond(200, ["x-a", "1"], body, encoding);
    const text = (await (await ask("1.1")).bytes).toString("latin1");
    const [head = "", shown] = text.split("\r\n\r\n");
    expect(head).toContain(`content-length: ${sent.length}`);
    expect(shown === sent).toBe(true);
  });
});
