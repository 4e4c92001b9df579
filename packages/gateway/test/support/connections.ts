import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** The connections that servers of this process have, by port. */
export interface ConnectionCount {
  /** Open now. */
  open(port: number): number;
  /** Accepted since the count began. */
  total(port: number): number;
  stop(): void;
}

/** Counts from now on. */
export function countConnections(): ConnectionCount {
  const open = new Map<number, Set<Socket>>();
  const total = new Map<number, number>();
  const accepted = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const port = socket.localPort ?? 0;
    const sockets = open.get(port) ?? new Set();
    open.set(port, sockets.add(socket));
    total.set(port, (total.get(port) ?? 0) + 1);
    socket.once("close", () => sockets.delete(socket));
  };
  subscribe("net.server.socket", accepted);
  return {
    open: (port) => open.get(port)?.size ?? 0,
    total: (port) => total.get(port) ?? 0,
    stop: () => void unsubscribe("net.server.socket", accepted),
  };
}
