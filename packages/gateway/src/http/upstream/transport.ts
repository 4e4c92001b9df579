import type { Clock } from "../../core/clock.ts";
import type { Transport, UpstreamRequest } from "../../core/transport.ts";
import { createProxyTransport } from "../undici-transport.ts";
import { Pool } from "./pool.ts";

/**
 * HTTP/1.1 to upstreams, one pool a deployment, so that one that hangs leaves the others' connections alone.
 * The client is our own (docs/decisions/001): half the CPU of a general one, and timers that are exact.
 * Through a proxy, undici carries the call.
 */
export function createTransport(clock: Clock): Transport {
  const pools = new Map<string, Pool>();
  const proxied = createProxyTransport();
  return {
    send(request, sink) {
      if (request.pool.proxy) return proxied.send(request, sink);
      const { key } = request.pool;
      let pool = pools.get(key);
      if (!pool?.serves(request)) {
        // Another place, another certificate, another number of connections: a reload's calls get connections made as it says.
        pool?.drain();
        pool = new Pool(request, clock);
        pools.set(key, pool);
      }
      return pool.send(request, sink);
    },
    retain(keep) {
      proxied.retain(keep);
      for (const [key, pool] of pools) {
        if (keep.has(key)) continue;
        pools.delete(key);
        pool.drain();
      }
    },
    async close() {
      for (const pool of pools.values()) pool.destroy();
      pools.clear();
      await proxied.close();
    },
  };
}
