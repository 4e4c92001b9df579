import { once } from "node:events";
import { createServer, type Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type RawClient, rawClient } from "../../test/support/raw-client.ts";
import { until } from "../../test/support/until.ts";
import { exchangeParts, HttpExchange } from "./exchange.ts";
import { WholeResponse } from "./whole-response.ts";

interface Served {
  server: Server;
  exchanges: HttpExchange[];
  act: (exchange: HttpExchange) => void;
}

const clients: RawClient[] = [];

afterEach(() => {
  for (const each of clients.splice(0)) each.socket.destroy();
});

async function serve(kind: typeof ServerResponse): Promise<Served> {
  const parts = exchangeParts(75_000);
  const served: Served = {
    server: createServer({ ServerResponse: kind, keepAliveTimeout: 75_000 }),
    exchanges: [],
    act: () => {},
  };
  const take = (exchange: HttpExchange): void => {
    served.exchanges.push(exchange);
    served.act(exchange);
  };
  served.server.on("request", (request, response) => take(new HttpExchange(request, response, parts)));
  served.server.on("checkContinue", (request, response) => take(new HttpExchange(request, response, parts, true)));
  served.server.listen(0, "127.0.0.1");
  await once(served.server, "listening");
  return served;
}

function stop({ server }: Served): void {
  server.closeAllConnections();
  server.close();
}

async function client({ server }: Served, ...bytes: string[]): Promise<RawClient> {
  const made = await rawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...bytes);
  clients.push(made);
  return made;
}

const get = (path = "/"): string => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`;
const answers = (of: RawClient, count: number) =>
  until(`${count} answers`, () => of.answers().length >= count && of.answers());

describe("an answer sent whole", () => {
  const BODY = "é\u0000 <end>";
  let whole: Served;
  let pieces: Served;

  beforeAll(async () => {
    [whole, pieces] = await Promise.all([serve(WholeResponse), serve(ServerResponse)]);
  });
  afterAll(() => {
    stop(whole);
    stop(pieces);
  });

  const names = fc.oneof(
    fc.constantFrom("content-type", "x-request-id", "X-A", "retry-after", "set-cookie"),
    fc.constantFrom("Date", "connection", "Connection", "keep-alive", "Content-Length", "transfer-encoding", "trailer"),
    fc.constantFrom("expect", "content-disposition", "cookie", "", "x y", "x:", "é", "x\r\ny"),
    fc.stringMatching(/^[a-z!#$%&'*+.^_`|~-]{1,12}$/),
  );
  const values = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("1", "2", "close", "keep-alive", "chunked", "", " a ", "\ttab", "ÿ") },
    { weight: 1, arbitrary: fc.constantFrom("a\r\nx-b: 1", "a\nb", "\u0000", "\u007f", "Ā", "€") },
    { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
  );

  it("is byte for byte what node writes, or refused as node refuses it", async () => {
    const headers = fc.array(
      fc.tuple(fc.oneof({ weight: 4, arbitrary: fc.constantFrom("x-a", "x-b") }, names), values),
      {
        maxLength: 5,
      },
    );
    const statuses = fc.constantFrom(200, 200, 200, 201, 205, 404, 500, 502, 204, 304, 299, 1000, 200.5);
    const request = fc.record({
      method: fc.constantFrom("GET", "GET", "GET", "HEAD"),
      version: fc.constantFrom("1.1", "1.1", "1.1", "1.0"),
      line: fc.constantFrom("", "", "", "connection: close\r\n", "connection: keep-alive\r\n", "content-length: 0\r\n"),
    });
    let sentWhole = 0;
    await fc.assert(
      fc.asyncProperty(
        headers,
        statuses,
        request,
        fc.boolean(),
        async (list, status, { method, version, line }, bytes) => {
          const told = async (served: Served): Promise<string> => {
            let refused: string | null = null;
            served.act = (exchange) => {
              try {
                exchange.respond(status, list.flat(), bytes ? Buffer.from(BODY) : BODY, "latin1");
              } catch (error) {
                // What node has noted of a head before it refused it would be in the next one.
                refused = String((error as NodeJS.ErrnoException).code);
                exchange.destroy();
              }
              const { response } = exchange;
              if (response instanceof WholeResponse && response.headersSent && !Reflect.get(response, "_header"))
                sentWhole++;
            };
            const one = await client(served, `${method} / HTTP/${version}\r\nhost: h\r\n${line}\r\n`);
            const text = await until("the answer", () => {
              if (refused) return refused;
              const all = one.received().toString("latin1");
              const head = all.indexOf("\r\n\r\n") + 4;
              if (head < 4) return null;
              const bare = method === "HEAD" || / (204|304) /.test(all.slice(0, 14));
              const end = all.indexOf("<end>");
              return bare ? all.slice(0, head) : end === -1 ? null : all.slice(0, end + 5);
            });
            one.socket.destroy();
            return text.replace(/\r\nDate: [A-Z].*\r\n/, "\r\nDate: D\r\n");
          };
          const [one, other] = await Promise.all([told(whole), told(pieces)]);
          expect(one).toBe(other);
        },
      ),
      { numRuns: 250 },
    );
    expect(sentWhole).toBeGreaterThan(20);
  }, 30_000);
});

/** An answer sent whole is held against one in pieces: the same server, but for the class of its responses. */
describe.each([
  ["sent whole", WholeResponse],
  ["sent in pieces", ServerResponse],
])("an answer %s", (_name, kind) => {
  let served: Served;

  beforeAll(async () => {
    served = await serve(kind);
  });
  afterEach(() => {
    served.exchanges.length = 0;
  });
  afterAll(() => stop(served));

  const nth = (index: number): Promise<HttpExchange> => until("the request", () => served.exchanges[index]);

  it("counts as sent at once, goes out once, and leaves the connection to the next", async () => {
    const seen: boolean[] = [];
    served.act = (exchange) => {
      exchange.respond(200, [], `one ${exchange.path}`);
      seen.push(exchange.headSent, exchange.response.headersSent, exchange.response.writableFinished);
      exchange.respond(500, [], "two");
      exchange.begin(200, []);
    };
    const one = await client(served, get("/a"));
    await answers(one, 1);
    const { response, request, cancel } = await nth(0);
    await until("its end", () => response.destroyed);
    expect(seen).toEqual([true, true, false]);
    expect(response.writableFinished).toBe(true);
    expect(response.socket).toBeNull();
    expect(request.socket.timeout).toBe(76_000);
    one.socket.write(get("/b"));
    expect((await answers(one, 2)).map(({ body }) => body)).toEqual(["one /a", "one /b"]);
    one.socket.destroy();
    await until("the close", () => request.socket.destroyed);
    await turn();
    expect(cancel.cancelled).toBe(false);
  });

  it("waits for its turn", async () => {
    served.act = () => {};
    const one = await client(served, get("/a") + get("/b") + get("/c"));
    await nth(2);
    for (const exchange of served.exchanges.toReversed()) {
      exchange.respond(200, [], exchange.path);
      await turn();
    }
    expect((await answers(one, 3)).map(({ body }) => body)).toEqual(["/a", "/b", "/c"]);
  });

  it("waits for what was written before it", async () => {
    served.act = (exchange) => {
      const { socket } = exchange.request;
      socket.cork();
      socket.write("HTTP/1.1 102 Processing\r\n\r\n");
      exchange.respond(200, [], "late");
      setTimeout(() => socket.uncork(), 20);
    };
    const one = await client(served, get());
    expect(await answers(one, 1)).toMatchObject([{ body: "late" }]);
    expect(one.received().toString()).toMatch(/^HTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 200/);
  });

  /** Many large answers, in one go, to a client that does not read. */
  async function crowd(count: number, size: number): Promise<RawClient> {
    served.act = () => {};
    const one = await client(served);
    one.socket.pause();
    for (let i = 0; i < count; i++) one.socket.write(get(`/${i}`));
    await until("the requests", () => served.exchanges.length === count);
    for (const exchange of served.exchanges) {
      exchange.respond(200, [], exchange.path.padEnd(size, "x"), "latin1");
      await turn();
    }
    return one;
  }

  it("is whole, and in its place, when the socket takes it slowly", async () => {
    const one = await crowd(250, 60_000);
    expect(served.exchanges.at(-1)?.response.writableFinished).toBe(false);
    one.socket.resume();
    const got = await answers(one, 250);
    expect(got.every(({ body }, index) => body === `/${index}`.padEnd(60_000, "x"))).toBe(true);
    await until("the end of the last", () => served.exchanges.at(-1)?.response.writableFinished);
    expect(served.exchanges.some(({ cancel }) => cancel.cancelled)).toBe(false);
  });

  // A response in pieces takes what its socket has thrown away for sent, in Node 20.
  if (kind === WholeResponse)
    it("has not reached a client that leaves while it waits", async () => {
      const one = await crowd(250, 60_000);
      const waiting = served.exchanges.find(({ response }) => !response.writableFinished && response.socket);
      one.socket.destroy();
      await until("the cancellation", () => waiting?.cancel.cancelled);
      expect(waiting?.cancel.reason).toBe("client_left");
      expect(served.exchanges[0]?.cancel.cancelled).toBe(false);
    });

  it("is not written for a client that leaves before the end of the tick", async () => {
    served.act = (exchange) => {
      exchange.respond(200, [], "x");
      exchange.request.socket.destroy();
    };
    const one = await client(served, get());
    await one.closed();
    expect(one.received()).toHaveLength(0);
  });

  it("is not written after it was destroyed", async () => {
    served.act = (exchange) => {
      exchange.respond(200, [], "x");
      exchange.destroy();
    };
    const one = await client(served, get());
    await one.closed();
    expect(one.received()).toHaveLength(0);
  });

  it.each([
    ["answered before its body is asked for", false],
    ["answered after it", true],
  ])("to a client that waits to be asked, %s, says what becomes of the connection", async (_when, asked) => {
    served.act = (exchange) => {
      if (asked) exchange.askForBody();
      exchange.request.resume();
      exchange.request.on("end", () => exchange.respond(200, [], "x"));
    };
    const head = "POST / HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nab";
    const [answer] = await answers(await client(served, head), 1);
    expect(answer?.headers["connection"]).toBe(asked ? "keep-alive" : "close");
  });
});

describe("a response that can be sent whole", () => {
  async function attempt(prepare: (exchange: HttpExchange) => void): Promise<{ text: string; exchange: HttpExchange }> {
    const served = await serve(WholeResponse);
    served.act = (exchange) => {
      exchange.respond(200, [], "x");
      prepare(exchange);
    };
    const one = await client(served, get());
    const exchange = await until("the request", () => served.exchanges[0]);
    await until("the end", () => exchange.response.destroyed);
    await turn();
    stop(served);
    await one.closed();
    return { text: one.received().toString(), exchange };
  }

  it("says so when it has become the connection's last", async () => {
    const { text } = await attempt(({ response }) => {
      response.shouldKeepAlive = false;
    });
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-length: 1\r\nDate: .*\r\nConnection: close\r\n\r\nx$/);
  });

  it("is not sent so when nobody listens for its end", async () => {
    let listeners = 0;
    const { text } = await attempt(({ response }) => {
      const heard = response.listeners("finish");
      response.removeAllListeners("finish");
      // `end` says "prefinish" before, and only then; what node listens for is given back to it.
      response.on("prefinish", () => {
        listeners = response.listenerCount("finish");
        for (const each of heard) response.on("finish", each as () => void);
      });
    });
    expect(listeners).toBe(0);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nx$/);
  });

  it("is not out when its write fails", async () => {
    const { text, exchange } = await attempt(({ request: { socket } }) => {
      socket.on("error", () => {});
      socket._write = (_chunk, _encoding, done) => done(new Error("EPIPE"));
    });
    expect(text).toBe("");
    expect(exchange.response.writableFinished).toBe(false);
    expect(exchange.cancel.reason).toBe("client_left");
  });
});
