import { createHash } from "node:crypto";

/** A script of Redis, known there by its hash. */
export interface Script {
  lua: string;
  sha: string;
}

/** The server's own time, ms: replicas' clocks do not matter. */
const SERVER_TIME = `(function() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end)()`;

/** Makes a script. Where it says NOW it has the time that `time` (an expression of Lua) gives, once. */
export function script(lua: string, time = SERVER_TIME): Script {
  const text = lua.replace(/\bNOW\b/, time);
  return { lua: text, sha: createHash("sha1").update(text).digest("hex") };
}

/**
 * Keys of Redis. The tag in braces keeps all of them on one node of a cluster; the version changes with the meaning, so that two
 * versions of the gateway share a Redis without harm.
 */
export function redisKey(...parts: string[]): string {
  return ["{sluicegate}", "v1", ...parts].join(":");
}
