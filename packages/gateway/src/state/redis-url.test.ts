import { expect, it } from "vitest";
import { parseRedisUrl } from "./redis-url.ts";

const bare = { master: null, db: 0, tls: false, username: null, password: null, sentinelPassword: null };

it.each([
  ["redis://cache", { kind: "single", hosts: [{ host: "cache", port: 6379 }] }],
  ["redis://cache:7000/4", { kind: "single", hosts: [{ host: "cache", port: 7000 }], db: 4 }],
  [
    "rediss://u%40x:p%3A%2Fw@cache",
    { kind: "single", hosts: [{ host: "cache", port: 6379 }], tls: true, username: "u@x", password: "p:/w" },
  ],
  ["redis://:pw@cache/", { kind: "single", hosts: [{ host: "cache", port: 6379 }], password: "pw" }],
  ["redis://[::1]:6380", { kind: "single", hosts: [{ host: "::1", port: 6380 }] }],
  [
    "redis+sentinel://:pw@s1,s2:5000/main/2?sentinel_password=sp%25",
    {
      ...{ kind: "sentinel", master: "main", db: 2, password: "pw", sentinelPassword: "sp%" },
      hosts: [
        { host: "s1", port: 26379 },
        { host: "s2", port: 5000 },
      ],
    },
  ],
  [
    "redis+cluster://c1:7000,c2",
    {
      kind: "cluster",
      hosts: [
        { host: "c1", port: 7000 },
        { host: "c2", port: 6379 },
      ],
    },
  ],
])("reads %s", (url, expected) => {
  expect(parseRedisUrl(url)).toEqual({ ...bare, ...expected });
});

it.each([
  ["http://:s3cret@cache", "redis://host:6379"],
  ["redis:s3cret", "redis://host:6379"],
  ["redis://:s3cret@", "host or host:port"],
  ["redis://:s3cret@a,b", "redis+sentinel or redis+cluster"],
  ["redis://:s3cret@a:99999", "host or host:port"],
  ["redis://:s3cret@a/zero", "number of a database"],
  ["redis+sentinel://:s3cret@a", "name the master"],
  ["redis+cluster://:s3cret@a/1", "no databases"],
  ["redis://a?password=s3cret", "no parameter password"],
  ["redis://:s3cret%zz@a", "percent-encoded"],
])("refuses %s without showing it", (url, words) => {
  const failure = (): unknown => parseRedisUrl(url);
  expect(failure).toThrow(words);
  expect(failure).not.toThrow(/s3cret/);
});
