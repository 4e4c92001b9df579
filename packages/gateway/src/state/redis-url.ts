/** Where a Redis is and how it is entered. Host lists are of sentinels, or of some nodes of a cluster. */
export interface RedisTarget {
  kind: "single" | "sentinel" | "cluster";
  hosts: { host: string; port: number }[];
  /** The name a sentinel knows the master under; null where there is no sentinel. */
  master: string | null;
  db: number;
  tls: boolean;
  username: string | null;
  password: string | null;
  /** For the sentinels themselves; null: they ask for none. */
  sentinelPassword: string | null;
}

const SCHEMES = new Map<string, Pick<RedisTarget, "kind" | "tls">>([
  ["redis", { kind: "single", tls: false }],
  ["rediss", { kind: "single", tls: true }],
  ["redis+sentinel", { kind: "sentinel", tls: false }],
  ["rediss+sentinel", { kind: "sentinel", tls: true }],
  ["redis+cluster", { kind: "cluster", tls: false }],
  ["rediss+cluster", { kind: "cluster", tls: true }],
]);

/** Errors name what is wrong and never show the address: there may be a password in it. */
export function parseRedisUrl(url: string): RedisTarget {
  const match = /^([a-z+]+):\/\/(?:([^@/]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url);
  const scheme = SCHEMES.get(match?.[1] ?? "");
  if (!match || !scheme) throw new Error(`state: write redis://host:6379, or one of ${[...SCHEMES.keys()].join(", ")}`);
  const [, , login = "", hostList = "", path = "", query = ""] = match;
  const colon = login.indexOf(":");
  const [username, password] = colon < 0 ? ["", login] : [login.slice(0, colon), login.slice(colon + 1)];
  const hosts = hostList.split(",").map((host) => hostOf(host, scheme.kind === "sentinel" ? 26_379 : 6_379));
  if (scheme.kind === "single" && hosts.length > 1)
    throw new Error("state: several hosts need redis+sentinel or redis+cluster");
  const parts = path.split("/");
  const master = scheme.kind === "sentinel" ? decoded(parts.shift() ?? "") : null;
  if (master === "") throw new Error("state: name the master the sentinels watch: redis+sentinel://host/name");
  return {
    ...scheme,
    hosts,
    master,
    db: dbOf(parts.join("/"), scheme.kind),
    username: decoded(username) || null,
    password: decoded(password) || null,
    sentinelPassword: sentinelPasswordOf(query, scheme.kind),
  };
}

function hostOf(text: string, usualPort: number): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[2] ?? usualPort);
  if (!match?.[1] || port < 1 || port > 65_535)
    throw new Error("state: a host of the address is not host or host:port");
  return { host: match[1].replace(/^\[|\]$/g, ""), port };
}

function dbOf(text: string, kind: RedisTarget["kind"]): number {
  if (text === "") return 0;
  if (!/^\d{1,5}$/.test(text))
    throw new Error("state: what follows the host is the number of a database: redis://host/0");
  if (kind === "cluster" && text !== "0") throw new Error("state: a cluster has no databases but 0");
  return Number(text);
}

function sentinelPasswordOf(query: string, kind: RedisTarget["kind"]): string | null {
  const given = new URLSearchParams(query);
  for (const name of given.keys()) {
    if (name !== "sentinel_password" || kind !== "sentinel")
      throw new Error(`state: the address has no parameter ${name}`);
  }
  return given.get("sentinel_password");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("state: a part of the address is not percent-encoded as it should be");
  }
}
