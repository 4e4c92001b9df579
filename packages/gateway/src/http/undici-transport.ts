import { type Dispatcher, Pool, ProxyAgent } from "undici";
import { inOnePiece } from "../core/pieces.ts";
import type {
  Transport,
  UpstreamCall,
  UpstreamErrorKind,
  UpstreamHeaders,
  UpstreamRequest,
  UpstreamSink,
} from "../core/transport.ts";

interface OpenPool {
  dispatcher: Dispatcher;
  /** What it was opened with: another place, proxy or certificate is another pool. */
  request: UpstreamRequest;
}

/** HTTP/1.1 to upstreams through undici's dispatch, one pool a deployment, no timeouts of its own but the connect one. */
export function createProxyTransport(): Transport {
  const pools = new Map<string, OpenPool>();
  /** Pools that end when what they carry has ended. */
  const retired = new Set<Dispatcher>();
  /** close() waits for what is in flight: an old snapshot's calls end in peace. */
  const retire = ({ dispatcher }: OpenPool): void => {
    retired.add(dispatcher);
    dispatcher
      .close()
      .catch(() => {})
      .finally(() => retired.delete(dispatcher));
  };
  return {
    send(request, sink) {
      const { key } = request.pool;
      let pool = pools.get(key);
      if (!pool || !isSame(pool.request, request)) {
        if (pool) retire(pool);
        pool = { dispatcher: openPool(request), request };
        pools.set(key, pool);
      }
      return dispatch(pool.dispatcher, request, sink);
    },
    retain(keep) {
      for (const [key, pool] of pools) {
        if (keep.has(key)) continue;
        pools.delete(key);
        retire(pool);
      }
    },
    async close() {
      const all = [...retired, ...[...pools.values()].map(({ dispatcher }) => dispatcher)];
      pools.clear();
      await Promise.all(all.map((dispatcher) => dispatcher.destroy().catch(() => {})));
    },
  };
}

function isSame(a: UpstreamRequest, b: UpstreamRequest): boolean {
  const { pool: one } = a;
  const { pool: other } = b;
  return (
    a.origin === b.origin &&
    one.proxy === other.proxy &&
    one.connections === other.connections &&
    a.connectTimeoutMs === b.connectTimeoutMs &&
    (one.tls === other.tls ||
      (one.tls?.ca === other.tls?.ca && one.tls?.cert === other.tls?.cert && one.tls?.key === other.tls?.key))
  );
}

function openPool(request: UpstreamRequest): Dispatcher {
  const { tls, proxy, connections } = request.pool;
  const common = {
    connections,
    // One request a connection at a time: pipelining would let one slow answer hold up others.
    pipelining: 1,
    keepAliveTimeout: 30_000,
    keepAliveMaxTimeout: 300_000,
    // The attempt's own timers are exact; undici's are coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const connect = { timeout: request.connectTimeoutMs, ...tls };
  if (proxy) return new ProxyAgent({ uri: proxy, ...common, requestTls: connect });
  return new Pool(request.origin, { ...common, connect, autoSelectFamily: true });
}

function dispatch(pool: Dispatcher, request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
  let controller: Dispatcher.DispatchController | undefined;
  let over = false;
  let sent = false;
  let paused = false;
  const finish = (act: () => void): void => {
    if (over) return;
    over = true;
    act();
  };
  pool.dispatch(
    {
      origin: request.origin,
      path: request.path,
      method: request.method,
      headers: request.headers,
      body: request.body && inOnePiece(request.body),
    },
    {
      onRequestStart(given) {
        controller = given;
        if (over) return given.abort(new Error("aborted"));
        if (paused) given.pause();
        sent = true;
        sink.onSent();
      },
      onResponseStart(_controller, status, headers) {
        if (over || status < 200) return;
        sink.onHeaders(status, flatten(headers));
      },
      onResponseData(_controller, chunk) {
        if (!over) sink.onData(chunk);
      },
      onResponseEnd() {
        finish(() => sink.onEnd());
      },
      onResponseError(_controller, error) {
        finish(() => sink.onError(kindOf(error, sent), error.message));
      },
    },
  );
  return {
    abort() {
      finish(() => controller?.abort(new Error("aborted")));
      over = true;
    },
    pause() {
      paused = true;
      controller?.pause();
    },
    resume() {
      paused = false;
      controller?.resume();
    },
  };
}

function kindOf(error: Error, sent: boolean): UpstreamErrorKind {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (code === "UND_ERR_CONNECT_TIMEOUT") return "connect_timeout";
  // The parser's own errors have a name and, as a rule, no code.
  if (error.name === "HTTPParserError" || code === "UND_ERR_RES_CONTENT_LENGTH_MISMATCH") return "protocol";
  return sent ? "reset" : "connect";
}

function flatten(headers: Record<string, string | string[] | undefined>): UpstreamHeaders {
  const flat: UpstreamHeaders = Object.create(null);
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}
