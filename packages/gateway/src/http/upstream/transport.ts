import type { Clock } from "../../core/clock.ts";
import type { Transport } from "../../core/transport.ts";
import { createProxyTransport } from "../undici-transport.ts";
import { Pool } from "./pool.ts";

/**
 * HTTP/1.1 to upstreams, one pool a deployment, so that one that hangs leaves the others' connections alone.
 * The client is our own (docs/decisions/001): half the CPU of a general one, and timers that are exact.
 * Through a proxy, undici carries the call.
 */
export function createTransport(clock: Clock): Transport {
  const pools = new Map<string, Pool>();
  /** Pools that get no new calls; kept until their last one is over, so that `close` reaches them. */
  const retired = new Set<Pool>();
  const proxied = createProxyTransport();
  let isClosed = false;
  const retire = (pool: Pool): void => {
    for (const old of retired) if (old.isEmpty) retired.delete(old);
    retired.add(pool);
    pool.drain();
  };
  return {
    send(request, sink) {
      if (isClosed) throw new Error("the transport is closed");
      if (request.pool.proxy) return proxied.send(request, sink);
      const { key } = request.pool;
      let pool = pools.get(key);
      if (!pool?.serves(request)) {
        // Another place, another certificate, another number of connections: a reload's calls get connections made as it says.
        const before = pool;
        pool = new Pool(request, clock);
        pools.set(key, pool);
        if (before) retire(before);
      }
      return pool.send(request, sink);
    },
    retain(keep) {
      proxied.retain(keep);
      for (const [key, pool] of pools) {
        if (keep.has(key)) continue;
        pools.delete(key);
        retire(pool);
      }
    },
    async close() {
      isClosed = true;
      for (const pool of [...pools.values(), ...retired]) pool.destroy();
      pools.clear();
      retired.clear();
      await proxied.close();
    },
  };
}
