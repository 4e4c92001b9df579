import type { Call } from "../../core/call.ts";
import { decoded } from "../path-segment.ts";
import type { PathFacts } from "../protocol.ts";

/** `/v1beta/models/{alias}:{method}`, of any API version; the alias may hold slashes, encoded or as they are. */
const PATH = /^\/v1(?:alpha|beta)?\d*\/models\/([^?]+):([A-Za-z]+)$/;

/** What a Gemini path says when it ends in one of `methods`; null when it does not. Only a method's name can ask for a stream. */
export function matchModelPath(path: string, query: string, methods: readonly string[]): PathFacts | null {
  const [, alias, method] = PATH.exec(path) ?? [];
  if (alias === undefined || method === undefined || !methods.includes(method)) return null;
  const { rest, key } = splitKey(query);
  return {
    alias: decoded(alias),
    stream: method.startsWith("stream"),
    query: rest,
    ...(key !== undefined && { credential: key }),
  };
}

/** A query without its `key`, which is a credential and must not travel on with the call. */
export function splitKey(query: string): { rest: string; key?: string } {
  if (!/(?:^|&)key=/.test(query)) return { rest: query };
  const pairs = query.split("&");
  const found = pairs.find((pair) => pair.startsWith("key="));
  const key = decoded((found ?? "").slice("key=".length));
  return { rest: pairs.filter((pair) => !pair.startsWith("key=")).join("&"), ...(key !== "" && { key }) };
}

/** The client wants server-sent events rather than one JSON array. */
export function wantsEvents(call: Call): boolean {
  return new URLSearchParams(call.path.query).get("alt")?.toLowerCase() === "sse";
}

/** `models/x` and `tunedModels/x` are resource names already; anything else is a model's name. */
export function modelResource(model: string): string {
  return /^(?:models|tunedModels)\//.test(model) ? model : `models/${model}`;
}

/** A model's path upstream. Its name may hold anything (`sim/echo?tokens=3`): each of its segments is encoded. */
export function upstreamModelPath(model: string, method: string): string {
  const [kind, ...rest] = modelResource(model).split("/");
  return `/v1beta/${kind}/${encodeURIComponent(rest.join("/"))}:${method}`;
}
