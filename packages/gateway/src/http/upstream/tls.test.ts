import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { certificate } from "../../../test/support/certificate.ts";
import { post, record, recordToEnd } from "../../../test/support/recording-sink.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "../../../test/support/tcp-upstream.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import type { Transport, UpstreamTls } from "../../core/transport.ts";
import { createTransport } from "./transport.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const folder = mkdtempSync(join(tmpdir(), "sluicegate-tls-"));
const ours = certificate(folder, "ours", "DNS:localhost,IP:127.0.0.1");
const other = certificate(folder, "other", "DNS:elsewhere.example");
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(!ours || !other)("over TLS", () => {
  const mine = ours as { key: string; cert: string };
  const foreign = other as { key: string; cert: string };
  const answer = async (peer: Peer): Promise<void> => {
    while (await peer.request()) peer.socket.write(OK);
  };

  async function upstream(
    tls: NonNullable<Parameters<typeof startTcpUpstream>[1]>["tls"],
    serve: (peer: Peer) => unknown = answer,
  ): Promise<TcpUpstream> {
    const server = await startTcpUpstream(serve, tls ? { tls } : {});
    closers.push(() => server.close());
    return server;
  }

  function transport(): Transport {
    const made = createTransport(new VirtualClock());
    closers.push(() => made.close());
    return made;
  }

  /** The first connection's name in SNI, and protocol in ALPN. */
  function offered({ peers: [peer] }: TcpUpstream): { name: string | false; protocol: string | false | null } {
    const socket = peer?.socket as TLSSocket & { servername: string | false };
    return { name: socket.servername, protocol: socket.alpnProtocol };
  }

  const to = (server: TcpUpstream, tls?: UpstreamTls, host = "localhost") =>
    post(`https://${host}:${server.port}`, {}, tls ? { tls } : {});

  it("calls go, one after the other, on one connection, with the name in SNI and HTTP/1.1 in ALPN", async () => {
    const server = await upstream({ ...mine, ALPNProtocols: ["h2", "http/1.1"] });
    const out = transport();
    for (let i = 0; i < 3; i++)
      expect(await recordToEnd(out, to(server, { ca: mine.cert }))).toMatchObject({ text: "ok", breaches: [] });
    expect(server.peers).toHaveLength(1);
    expect(offered(server)).toEqual({ name: "localhost", protocol: "http/1.1" });
  });

  it("an address is checked as one, and is not named in SNI", async () => {
    const server = await upstream(mine);
    expect((await recordToEnd(transport(), to(server, { ca: mine.cert }, "127.0.0.1"))).text).toBe("ok");
    expect(offered(server).name).toBe(false);
  });

  it("large bodies pass in both directions", async () => {
    const body = Buffer.alloc(5 * 1024 * 1024, "0123456789abcdef-");
    const server = await upstream(mine, async (peer) => {
      const request = await peer.request();
      peer.socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${request?.body.length}\r\n\r\n`);
      peer.socket.write(request?.body ?? "");
    });
    const sink = await recordToEnd(transport(), { ...to(server, { ca: mine.cert }), body });
    expect(sink.body.equals(body)).toBe(true);
  });

  it.each<[string, () => { key: string; cert: string }, () => UpstreamTls | undefined]>([
    ["nobody vouches for", () => mine, () => undefined],
    ["another vouches for", () => mine, () => ({ ca: foreign.cert })],
    ["is for another name", () => foreign, () => ({ ca: foreign.cert })],
  ])("a certificate that %s is refused before anything is sent", async (_what, theirs, tls) => {
    let heard = 0;
    const server = await upstream(theirs(), (peer) => void peer.socket.on("data", () => heard++));
    const sink = await recordToEnd(transport(), to(server, tls()));
    expect(sink).toMatchObject({ log: ["error"], kind: "connect" });
    expect(sink.message).not.toBe("");
    expect(heard).toBe(0);
  });

  it("a server that speaks no TLS is no connection", async () => {
    const server = await upstream(undefined, (peer) => void peer.socket.end("HTTP/1.1 400 Bad\r\n\r\n"));
    expect(await recordToEnd(transport(), to(server))).toMatchObject({ log: ["error"], kind: "connect" });
  });

  it("a certificate of our own is shown to a server that asks for one", async () => {
    const server = await upstream({ ...mine, requestCert: true, rejectUnauthorized: true, ca: foreign.cert });
    const out = transport();
    const tls = { ca: mine.cert };
    expect((await recordToEnd(out, to(server, { ...tls, ...foreign }))).text).toBe("ok");
    const without = await recordToEnd(out, to(server, tls));
    expect(without.kind).toMatch(/^(connect|reset)$/);
    expect(without.breaches).toEqual([]);
  });

  it("material that is none is thrown back at every call, and changes nothing for others", async () => {
    const server = await upstream(mine);
    const out = transport();
    expect((await recordToEnd(out, to(server, { ca: mine.cert }))).text).toBe("ok");
    for (let i = 0; i < 2; i++) expect(() => record(out, to(server, { cert: "none", key: "none" }))).toThrow();
    expect((await recordToEnd(out, to(server, { ca: mine.cert }))).text).toBe("ok");
    expect(server.peers).toHaveLength(1);
  });

  it("an upstream that breaks off within its answer is a reset, told once", async () => {
    const server = await upstream(mine, async (peer) => {
      await peer.request();
      peer.socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", () => peer.socket.destroy());
    });
    const sink = await recordToEnd(transport(), to(server, { ca: mine.cert }));
    expect(sink).toMatchObject({ log: ["sent", "headers", "data", "error"], kind: "reset", breaches: [] });
  });

  it("an abort closes the connection", async () => {
    const server = await upstream(mine, (peer) => void peer.request());
    const running = record(transport(), to(server, { ca: mine.cert }));
    await running.sink.sent;
    while (server.peers.length === 0) await new Promise(setImmediate);
    running.abort();
    await server.peers[0]?.ended;
    expect(running.sink).toMatchObject({ log: ["sent"], breaches: [] });
  });
});
