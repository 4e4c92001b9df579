import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { CLIENT_KEY } from "./gateway.ts";

/** A request to be made. */
export interface Order {
  /** Goes along as `x-request-id`, and so into the ledger as client_request_id; in the message it reaches the upstream. */
  marker: string;
  body: Record<string, unknown> & { model: string; stream?: boolean };
  /** The client leaves by itself: at a time after sending, once this many events are there, or once it has read this text. */
  leave?: { afterMs: number } | { afterEvents: number } | { afterText: string };
  headers?: Record<string, string>;
  key?: string;
}

/** What became of it, as its client saw it. */
export interface Outcome {
  marker: string;
  order: Order;
  status: number | null;
  requestId: string | null;
  headers: IncomingMessage["headers"];
  text: string;
  /** The answer came to its end: a whole body, for a stream `[DONE]`. */
  complete: boolean;
  /** The client left by its own will. */
  left: boolean;
  /** Monotonic ms. */
  sentAt: number;
  endedAt: number;
  error: string | null;
}

/** A client that keeps its connections, and may be told to drop them all. */
export interface LoadClient {
  send(order: Order): Promise<Outcome>;
  readonly inFlight: number;
  close(): void;
}

/** Starts one against a gateway. */
export function loadClient(url: string): LoadClient {
  const agent = new Agent({ keepAlive: true, noDelay: true });
  let inFlight = 0;
  return {
    get inFlight() {
      return inFlight;
    },
    send(order) {
      inFlight++;
      return send(url, agent, order).finally(() => {
        inFlight--;
      });
    },
    close: () => agent.destroy(),
  };
}

function send(url: string, agent: Agent, order: Order): Promise<Outcome> {
  const { marker, body, leave } = order;
  const outcome: Outcome = {
    ...{ marker, order, status: null, requestId: null, headers: {}, text: "" },
    ...{ complete: false, left: false, sentAt: performance.now(), endedAt: 0, error: null },
  };
  return new Promise((resolve) => {
    const bytes = Buffer.from(JSON.stringify({ messages: [{ role: "user", content: marker }], ...body }));
    const call = request(`${url}/v1/chat/completions`, {
      agent,
      method: "POST",
      headers: {
        authorization: `Bearer ${order.key ?? CLIENT_KEY}`,
        "content-type": "application/json",
        "content-length": bytes.length,
        "x-request-id": marker,
        ...order.headers,
      },
    });
    let timer: NodeJS.Timeout | undefined;
    const end = (error: Error | null): void => {
      if (outcome.endedAt > 0) return;
      clearTimeout(timer);
      outcome.endedAt = performance.now();
      outcome.error = error?.message ?? null;
      resolve(outcome);
    };
    const leaveNow = (): void => {
      outcome.left = outcome.endedAt === 0;
      call.destroy();
      end(null);
    };
    call.on("error", end);
    call.on("response", (response) => read(response, outcome, call, leave, leaveNow, end));
    call.end(bytes);
    if (leave && "afterMs" in leave) timer = setTimeout(leaveNow, leave.afterMs);
  });
}

function read(
  response: IncomingMessage,
  outcome: Outcome,
  call: ClientRequest,
  leave: Order["leave"],
  leaveNow: () => void,
  end: (error: Error | null) => void,
): void {
  outcome.status = response.statusCode ?? null;
  outcome.requestId = response.headers["x-request-id"]?.toString() ?? null;
  outcome.headers = response.headers;
  let events = 0;
  response.setEncoding("utf8");
  response.on("data", (text: string) => {
    outcome.text += text;
    events += text.split("\n\n").length - 1;
    if (leave && "afterEvents" in leave && events >= leave.afterEvents) leaveNow();
    if (leave && "afterText" in leave && outcome.text.includes(leave.afterText)) leaveNow();
  });
  response.on("error", end);
  response.on("aborted", () => end(new Error("cut off")));
  response.on("end", () => {
    const streamed = response.headers["content-type"]?.startsWith("text/event-stream") === true;
    outcome.complete = response.complete && (!streamed || outcome.text.includes("data: [DONE]"));
    end(null);
  });
  call.on("close", () => end(new Error("closed")));
}
