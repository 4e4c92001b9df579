import { Cluster, Redis } from "ioredis";
import type { RedisTarget } from "./redis-url.ts";

/** A connection, or the connections of a cluster. */
export type RedisClient = Redis | Cluster;

/** How long a connection may take to come about. */
const CONNECT_MS = 2_000;
/** Backstop behind the link's own, shorter patience: for what the client sends by itself while it connects. */
const COMMAND_MS = 2_000;
const RETRY_MS_MAX = 1_000;
/** How long the other side may take to close what is closed here. */
const DISCONNECT_MS = 500;

/** Makes a client that connects when told to, tries again for ever, and keeps nothing for later: a lost store is stood in for. */
export function redisClient(target: RedisTarget): RedisClient {
  const retry = (times: number): number => Math.min(50 * 2 ** Math.min(times, 8), RETRY_MS_MAX);
  const common = {
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    disconnectTimeout: DISCONNECT_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    connectionName: "sluicegate",
    db: target.db,
    // A master that was demoted: ask the name, or the sentinels, who is the master now.
    reconnectOnError: (error: Error) => error.message.includes("READONLY"),
    ...(target.username === null ? {} : { username: target.username }),
    ...(target.password === null ? {} : { password: target.password }),
    ...(target.tls ? { tls: {} } : {}),
  };
  const client =
    target.kind === "cluster"
      ? new Cluster(target.hosts, {
          lazyConnect: true,
          enableOfflineQueue: false,
          clusterRetryStrategy: retry,
          clusterNodeRetryStrategy: retry,
          slotsRefreshTimeout: CONNECT_MS,
          redisOptions: common,
        })
      : new Redis({
          ...common,
          lazyConnect: true,
          enableOfflineQueue: false,
          retryStrategy: retry,
          ...whereOf(target),
        });
  // Nobody is told here: a client that nobody listens to would end the process, and its errors carry what was sent.
  client.on("error", () => {});
  return client;
}

function whereOf({ kind, hosts, master, sentinelPassword, tls }: RedisTarget) {
  const [first] = hosts;
  if (kind === "single") return { host: first?.host ?? "127.0.0.1", port: first?.port ?? 6379 };
  return {
    sentinels: hosts,
    name: master ?? "",
    sentinelRetryStrategy: () => RETRY_MS_MAX,
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  };
}
