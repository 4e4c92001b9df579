import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy on loopback that can hold bytes back. */
export interface StallingProxy {
  port: number;
  /** From now on nothing comes through: of what clients send, of the answers, or of both. */
  stall(what: "requests" | "answers" | "both"): void;
  /** Holds each answer back for so long. */
  delay(ms: number): void;
  /** Lets through what was held back and what comes. */
  resume(): void;
  /** Pieces of answers that have come through so far. */
  answers(): number;
  /** Connections made to it so far. */
  connections(): number;
  close(): Promise<void>;
}

/** Starts one in front of a port. */
export async function stallingProxy(to: number): Promise<StallingProxy> {
  const pairs = new Set<{ client: Socket; server: Socket }>();
  let stalled: "requests" | "answers" | "both" | null = null;
  const apply = ({ client, server }: { client: Socket; server: Socket }): void => {
    if (stalled === "requests" || stalled === "both") client.pause();
    else client.resume();
    if (stalled === "answers" || stalled === "both") server.pause();
    else server.resume();
  };
  let connections = 0;
  let delayMs = 0;
  let answers = 0;
  const listener = createServer((client) => {
    connections++;
    const server = connect(to, "127.0.0.1");
    const pair = { client, server };
    pairs.add(pair);
    for (const [from, other] of [
      [client, server],
      [server, client],
    ] as const) {
      const pass = (bytes: Buffer): void => {
        if (from === server) answers++;
        other.write(bytes);
      };
      from.on("data", (bytes) => {
        if (from === client || delayMs === 0) pass(bytes);
        else setTimeout(pass, delayMs, bytes);
      });
      from.on("error", () => {});
      from.on("close", () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
    apply(pair);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const turn = (what: typeof stalled): void => {
    stalled = what;
    for (const pair of pairs) apply(pair);
  };
  return {
    port: typeof address === "object" && address ? address.port : 0,
    stall: turn,
    delay: (ms) => {
      delayMs = ms;
    },
    resume: () => {
      delayMs = 0;
      turn(null);
    },
    answers: () => answers,
    connections: () => connections,
    async close() {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      listener.close();
      await once(listener, "close");
    },
  };
}
