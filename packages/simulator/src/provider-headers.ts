import type { Headers } from "./delivery/failure.ts";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./models/settings.ts";

/** The headers every answer carries. */
export function commonHeaders(exchange: Exchange): Headers {
  const elapsedMs = Math.round(performance.now() - exchange.startedMs);
  return {
    "x-request-id": exchange.requestId,
    "openai-version": "2020-10-01",
    "openai-processing-ms": String(elapsedMs),
  };
}

/**
 * Adds what the name of the model asks for. Some providers send Retry-After on good answers too, so any model
 * may; `date:2` is a date 2 s from now.
 */
export function modelHeaders(common: Headers, settings: Settings, limits: Headers | null): Headers {
  const { retry_after: after, retry_after_ms: afterMs } = settings;
  if (after === undefined && afterMs === undefined && limits === null) return common;
  const date = after === undefined ? null : /^date:(\d{1,8})$/.exec(after);
  const value = date === null ? after : new Date(Date.now() + Number(date[1]) * 1000).toUTCString();
  return {
    ...common,
    ...limits,
    ...(value !== undefined && { "retry-after": value }),
    ...(afterMs !== undefined && { "retry-after-ms": String(afterMs) }),
  };
}
