import type { GatewayConfig } from "./config/snapshot.ts";
import type { HttpServer } from "./http/server.ts";
import type { Log } from "./telemetry/log.ts";

/** Ports tried after a taken one. */
const TRIES = 20;

/** Listens on the config's port and returns it; a taken one moves to the next free one, said aloud, unless the user named it. */
export async function listenNear(server: HttpServer, gateway: GatewayConfig, log: Log): Promise<number> {
  const { host, port } = gateway.listen;
  const last = gateway.portFixed || port === 0 ? port : port + TRIES;
  for (let candidate = port; ; candidate++) {
    try {
      return await server.listen(host, candidate);
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!taken || candidate >= last) throw error;
      log.warn(`port ${candidate} is taken; trying ${candidate + 1}`);
    }
  }
}
