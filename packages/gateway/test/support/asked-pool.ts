import { setImmediate as turn } from "node:timers/promises";
import type { UpstreamRequest } from "../../src/core/transport.ts";
import { Pool } from "../../src/http/upstream/pool.ts";
import { post, type Recorded, type RecordingSink, record } from "./recording-sink.ts";
import { type Peer, startTcpUpstream, type TcpUpstream } from "./tcp-upstream.ts";
import { VirtualClock } from "./virtual-clock.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A server whose answers a test gives one by one, and a pool to it. */
export interface AskedPool {
  server: TcpUpstream;
  pool: Pool;
  clock: VirtualClock;
  /** Requests that have come and have no answer yet: their paths and how to answer. */
  asked: { path: string; peer: Peer; answer(bytes?: string): void }[];
  /** Resolves once so many requests have come, answered or not. */
  came(count: number): Promise<void>;
  send(path?: string): Recorded;
  /** Serves a call that is the `count`th, and over at once. */
  once(count: number, bytes?: string): Promise<RecordingSink>;
}

/** A pool on a clock of its own, closed by one of the closers. */
export function poolTo(
  closers: (() => unknown)[],
  port: number | string,
  connections = 1,
  change: Partial<UpstreamRequest> = {},
): { pool: Pool; clock: VirtualClock } {
  const clock = new VirtualClock();
  const pool = new Pool(post(port, change, { connections }), clock);
  closers.push(() => pool.destroy());
  return { pool, clock };
}

/** Both, until the closers are called, the last one first. */
export async function startAskedPool(closers: (() => unknown)[], connections: number): Promise<AskedPool> {
  const asked: AskedPool["asked"] = [];
  let count = 0;
  let wake = (): void => {};
  const server = await startTcpUpstream(async (peer) => {
    for (let got = await peer.request(); got; got = await peer.request()) {
      const path = /^\S+ (\S+)/.exec(got.head)?.[1] ?? "";
      await new Promise<void>((resolve) => {
        const entry = {
          path,
          peer,
          answer(bytes = OK) {
            asked.splice(asked.indexOf(entry), 1);
            peer.socket.write(bytes);
            resolve();
          },
        };
        asked.push(entry);
        count++;
        wake();
      });
    }
  });
  closers.push(() => server.close());
  const { pool, clock } = poolTo(closers, server.port, connections);
  const came = async (wanted: number): Promise<void> => {
    while (count < wanted)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  };
  const send = (path = "/"): Recorded => record(pool, post(server.port, { path }));
  return {
    ...{ server, pool, clock, asked, came, send },
    async once(wanted, bytes) {
      const { sink } = send();
      await came(wanted);
      asked[0]?.answer(bytes);
      await sink.over;
      return sink;
    },
  };
}

/** A few turns of the event loop: what could have happened, has. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}
