import { type AddressInfo, createServer, type Server, type ServerOpts, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** A request as it came in. */
interface TcpRequest {
  head: string;
  body: Buffer;
}

/** One connection as the upstream has it. */
export interface Peer {
  socket: Socket;
  /** The next request, once it has come in whole; null when the connection ends before. */
  request(): Promise<TcpRequest | null>;
  /** Resolves once the other side has ended, or cut, the connection. */
  ended: Promise<void>;
}

/** A server that sends whatever bytes a test likes. */
export interface TcpUpstream {
  port: number;
  /** In the order of their coming. */
  peers: Peer[];
  close(): Promise<void>;
}

/** Opens one on loopback; `serve` plays each connection. */
export async function startTcpUpstream(
  serve: (peer: Peer, index: number) => unknown,
  { host = "127.0.0.1", tls, ...options }: ServerOpts & { host?: string; tls?: TlsOptions } = {},
): Promise<TcpUpstream> {
  const peers: Peer[] = [];
  const sockets = new Set<Socket>();
  const take = (socket: Socket): void => {
    const peer = peerOn(socket);
    const index = peers.push(peer) - 1;
    void serve(peer, index);
  };
  const server: Server = tls ? createTlsServer({ ...options, ...tls }, take) : createServer(options, take);
  // Below TLS, too: a connection that never shook hands is one.
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    peers,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}

function peerOn(socket: Socket): Peer {
  let chunks: Buffer[] = [];
  let size = 0;
  let isOver = false;
  let wake: (() => void) | null = null;
  const ended = new Promise<void>((resolve) => {
    const over = (): void => {
      isOver = true;
      wake?.();
      resolve();
    };
    socket.on("end", over);
    socket.on("close", over);
  });
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    wake?.();
  });
  return {
    socket,
    ended,
    async request() {
      /** Bytes of the request, as soon as its head is known. */
      let needed = 1;
      for (;;) {
        if (size >= needed) {
          const all = Buffer.concat(chunks);
          chunks = [all];
          const headEnd = all.indexOf("\r\n\r\n") + 4;
          if (headEnd > 3) {
            const head = all.toString("latin1", 0, headEnd);
            const end = headEnd + Number(/^content-length: (\d+)/m.exec(head)?.[1] ?? 0);
            needed = end;
            if (size >= end) {
              chunks = [all.subarray(end)];
              size -= end;
              return { head, body: all.subarray(headEnd, end) };
            }
          } else needed = size + 1;
        }
        if (isOver) return null;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
