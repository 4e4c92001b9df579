import { HEADERS } from "@sluicegate/contract";
import { readErrorAnswer } from "./error-answer.ts";
import { createError } from "./error-table.ts";
import { asObject, type JsonObject } from "./json-value.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** Where the gateway is and how to speak to it. */
export interface GatewayAddress {
  fetch: typeof globalThis.fetch;
  url: string;
  headers: Headers;
  maxRetries: number;
}

/** Codes that runtimes give a connection which was never made, so that nothing can have run. */
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "ConnectionRefused",
]);

/**
 * Posts the body until an answer begins, and gives the 2xx answer. Throws SluicegateError, or the signal's reason.
 * Retried is only the hop: a connection lost before any answer, and the refusal of a gateway that is draining.
 * Whatever else failed, the gateway has retried already where that could help.
 */
export async function sendChat(gateway: GatewayAddress, body: JsonObject, signal: AbortSignal): Promise<Response> {
  const payload = JSON.stringify(body);
  for (let retry = 0; ; retry++) {
    const { response, failure, mayRetry } = await attempt(gateway, body, payload, signal);
    if (failure === undefined) return response;
    const delayMs =
      mayRetry && retry < gateway.maxRetries ? retryDelayMs(retry, failure.retryAfterMs, Math.random()) : undefined;
    if (delayMs === undefined) throw failure;
    await wait(delayMs, signal);
  }
}

async function attempt(gateway: GatewayAddress, body: JsonObject, payload: string, signal: AbortSignal) {
  let response: Response;
  try {
    response = await gateway.fetch(gateway.url, { method: "POST", headers: gateway.headers, body: payload, signal });
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const failure = createError({
      message: "no answer from the gateway: the connection was lost",
      code: "connection_lost",
      cause,
    });
    return { failure, mayRetry: wasNeverConnected(cause) || isSafeToRepeat(body) } as const;
  }
  if (response.ok) return { response } as const;
  const failure = await readErrorAnswer(response);
  if (signal.aborted) throw signal.reason;
  const isDraining = response.status === 503 && failure.code === "draining";
  return { failure, mayRetry: isDraining && response.headers.get(HEADERS.shouldRetry) !== "false" } as const;
}

function wasNeverConnected(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } }).cause?.code ?? (error as { code?: unknown }).code;
  return typeof code === "string" && NEVER_CONNECTED.has(code);
}

/** After an ambiguous loss the request may have run. The gateway's own rule for such requests holds here too. */
function isSafeToRepeat(body: JsonObject): boolean {
  const platform = asObject(body["gateway"]);
  if (platform?.["side_effecting"] === true) return false;
  if (platform?.["retry_after_tool_results"] === true) return true;
  const messages = Array.isArray(body["messages"]) ? body["messages"] : [];
  return !messages.some((message) => asObject(message)?.["role"] === "tool");
}

function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, delayMs);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
