import type { CacheMarker } from "../../core/message.ts";
import { isObject } from "../field-checks.ts";
import type { Wire } from "./wire.ts";

/** Bedrock takes no more cache points in one request. */
const CACHE_POINTS_MAX = 4;

/** All before it may be cached; `long` says whether an hour can be asked for. */
export function cachePoint({ ttl }: CacheMarker, long: boolean): Wire {
  return { cachePoint: { type: "default", ...(long && ttl !== null && { ttl }) } };
}

/** Keeps the last points of those that are too many: they stand for the longest prefixes. True when some had to go. */
export function limitCachePoints(body: Wire): boolean {
  const lists: Wire[][] = [];
  const { toolConfig, system, messages } = body;
  if (isObject(toolConfig)) lists.push(toolConfig["tools"] as Wire[]);
  if (Array.isArray(system)) lists.push(system);
  for (const { content } of messages as { content: Wire[] }[]) lists.push(content);
  let over = lists.flat().filter(isCachePoint).length - CACHE_POINTS_MAX;
  const found = over > 0;
  for (const list of lists) {
    let kept = 0;
    for (const block of list) {
      if (over > 0 && isCachePoint(block)) over--;
      else list[kept++] = block;
    }
    list.length = kept;
  }
  return found;
}

function isCachePoint(block: Wire | undefined): boolean {
  return block !== undefined && "cachePoint" in block;
}
