import { once } from "node:events";
import { createServer, IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RawClient, rawClient } from "../../test/support/raw-client.ts";
import { until } from "../../test/support/until.ts";
import { LIMITS } from "../core/limits.ts";
import { serverRequests } from "./server-request.ts";

const servers: Server[] = [];
const clients: RawClient[] = [];

beforeAll(async () => {
  for (const kind of [serverRequests(), IncomingMessage]) {
    const server = createServer({ IncomingMessage: kind, maxHeaderSize: 1 << 20 }, (request, response) => {
      const { headers } = request;
      response.end(
        JSON.stringify([Object.entries(headers), headers === request.headers, Object.keys(request.trailers)]),
      );
    });
    server.maxHeadersCount = LIMITS.headerCountMax;
    servers.push(server.listen(0, "127.0.0.1"));
    await once(server, "listening");
    clients.push(await rawClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  }
});

afterAll(() => {
  for (const { socket } of clients) socket.destroy();
  for (const server of servers) server.close();
});

let asked = 0;

/** What the two servers make of a request with these headers, on the connection that they had the last one on. */
async function told(headers: readonly (readonly [string, string])[]): Promise<(string | undefined)[]> {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  asked++;
  return Promise.all(
    clients.map(async (client) => {
      client.socket.write(`GET / HTTP/1.1\r\nhost: h\r\n${lines}\r\n`);
      return (await until("the answer", () => client.answers().length === asked && client.answers()))[asked - 1]?.body;
    }),
  );
}

const names = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("x-a", "X-A", "accept", "Cookie", "cookie", "set-cookie", "Set-Cookie") },
  {
    weight: 3,
    arbitrary: fc.constantFrom("authorization", "Authorization", "user-agent", "Content-Type", "host", "ETag"),
  },
  { weight: 2, arbitrary: fc.constantFrom("age", "expires", "from", "if-modified-since", "if-unmodified-since") },
  { weight: 2, arbitrary: fc.constantFrom("last-modified", "location", "max-forwards", "proxy-authorization") },
  { weight: 2, arbitrary: fc.constantFrom("referer", "retry-after", "server", "date", "vary", "origin", "if-match") },
  { weight: 2, arbitrary: fc.constantFrom("constructor", "__proto__", "toString", "hasOwnProperty", "x".repeat(70)) },
  { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~]{1,9}$/) },
);

it("the headers of requests are what node makes of them, whatever came before on the server", async () => {
  const value = fc.stringMatching(/^([!-~ÿ]{1,6})?$/);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(names, value), { maxLength: 6 }), async (headers) => {
      const [mine, nodes] = await told(headers.filter(([name]) => !/^(expect|upgrade|te)$/i.test(name)));
      expect(mine).toBe(nodes);
    }),
    { numRuns: 150 },
  );
}, 20_000);

it("more headers than are counted are left out", async () => {
  const [mine, nodes] = await told(
    Array.from({ length: LIMITS.headerCountMax + 5 }, (_, index) => [`x-${index}`, "v"]),
  );
  expect(mine).toBe(nodes);
  expect(mine).not.toContain(`x-${LIMITS.headerCountMax}`);
});
