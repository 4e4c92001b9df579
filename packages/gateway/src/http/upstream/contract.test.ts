import { afterEach, expect, it } from "vitest";
import { post, type Recorded, record } from "../../../test/support/recording-sink.ts";
import { type Seeded, seeded } from "../../../test/support/seeded.ts";
import { type Peer, startTcpUpstream } from "../../../test/support/tcp-upstream.ts";
import { VirtualClock } from "../../../test/support/virtual-clock.ts";
import { createTransport } from "./transport.ts";

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Good answers, each of which names the request it answers. */
const GOOD = [
  (id: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${id.length}\r\n\r\n${id}`,
  (id: string) =>
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n${id[0]}\r\n${(id.length - 1).toString(16)};x\r\n${id.slice(1)}\r\n0\r\nt: r\r\n\r\n`,
  (id: string) =>
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nkeep-alive: timeout=9\r\ncontent-length: ${id.length}\r\n\r\n${id}`,
  (id: string) => `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${id.length}\r\n\r\n${id}`,
];

const EVIL = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");

type Ending = "stay" | "end" | "cut" | "garbage";

/** Plays one answer: good, cut short or broken, in pieces, and then something happens to the connection. */
async function answer(random: Seeded, peer: Peer, id: string): Promise<void> {
  const good = random.pick(GOOD)(id);
  const fate = random.pick(["good", "good", "good", "short", "broken"] as const);
  let bytes = Buffer.from(good);
  if (fate === "short") bytes = bytes.subarray(0, random.int(0, bytes.length - 1));
  // Not in the body, which says whose it is, nor in the status: another one may make another good answer of it.
  if (fate === "broken") bytes[random.int(0, 8)] = random.int(0, 255);
  const ending: Ending =
    fate === "good" ? random.pick(["stay", "stay", "stay", "end", "cut", "garbage"]) : random.pick(["end", "cut"]);
  for (let at = 0; at < bytes.length; ) {
    let piece = bytes.subarray(at, at + random.int(1, 40));
    at += piece.length;
    // In one piece with the end of the answer: what comes later may meet the next request, and pass for its answer.
    if (ending === "garbage" && at === bytes.length) piece = Buffer.concat([piece, EVIL]);
    peer.socket.write(piece);
    if (random.float() < 0.3) await new Promise(setImmediate);
  }
  if (ending === "end") peer.socket.end();
  if (ending === "cut") peer.socket.resetAndDestroy();
}

/** Does something to a running call, at a moment of its own. */
async function meddle(random: Seeded, { call, sink, abort }: Recorded): Promise<void> {
  const what = random.pick(["nothing", "nothing", "pause", "abort", "abort in"] as const);
  if (what === "abort in") {
    const moment = random.pick(["sent", "headers", "data", "end", "error"] as const);
    sink.onEvent = (event) => {
      if (event === moment) abort();
    };
    return;
  }
  for (let i = random.int(0, 6); i > 0; i--) await new Promise(setImmediate);
  if (what === "abort") abort();
  if (what !== "pause") return;
  call.pause();
  for (let i = random.int(0, 6); i > 0; i--) await new Promise(setImmediate);
  call.resume();
}

it.each([1, 2, 3])(
  "whatever upstreams and callers do (%i), each call keeps to the contract and hears its own answer",
  async (seed) => {
    const random = seeded(seed);
    let requests = 0;
    const server = await startTcpUpstream(async (peer) => {
      for (let got = await peer.request(); got; got = await peer.request()) {
        requests++;
        await answer(random, peer, got.body.toString());
      }
    });
    closers.push(() => server.close());
    const transport = createTransport(new VirtualClock());
    closers.push(() => transport.close());
    const calls: Recorded[] = [];
    let good = 0;
    for (let round = 0; round < 60; round++) {
      const batch = Array.from({ length: random.int(1, 12) }, (_, i) =>
        record(transport, post(server.port, { body: Buffer.from(`call ${round}.${i}.`) }, { connections: 5 })),
      );
      calls.push(...batch);
      await Promise.all(batch.map((recorded) => meddle(random, recorded)));
      for (const [i, { sink }] of batch.entries()) {
        while (!sink.isAborted && !sink.log.includes("end") && !sink.log.includes("error"))
          await new Promise(setImmediate);
        if (!sink.log.includes("end")) continue;
        expect(sink.text).toBe(`call ${round}.${i}.`);
        good++;
      }
    }
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    for (const { sink } of calls) expect(sink.breaches).toEqual([]);
    expect(requests).toBeLessThanOrEqual(calls.length);
    expect(good).toBeGreaterThan(50);
  },
);
