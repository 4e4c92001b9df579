import { GatewayError } from "./core/errors.ts";
import { newId } from "./core/ids.ts";
import { FEEDBACK_PATH, handleFeedback } from "./handle-feedback.ts";
import { handleModels, modelsAsked } from "./handle-models.ts";
import { handleRequest } from "./handle-request.ts";
import { handleResponses, isResponsePath } from "./handle-responses.ts";
import type { Exchange, HttpExchange } from "./http/exchange.ts";
import type { UnparsedAnswer } from "./http/server.ts";
import { anthropicMessages } from "./protocols/anthropic-messages/index.ts";
import { geminiGenerate } from "./protocols/gemini-generate/index.ts";
import { openaiChat } from "./protocols/openai-chat/index.ts";
import type { Protocol } from "./protocols/protocol.ts";
import { addressed, PROTOCOLS } from "./protocols/registry.ts";
import type { DataPlane } from "./stages/plane.ts";

/** The control plane's side of the port: admin API, health, console. */
export interface ControlDoor {
  handles(path: string): boolean;
  handle(request: HttpExchange["request"], response: HttpExchange["response"]): void;
}

/** Which handler a request goes to: data plane by path, control plane by prefix, else a 404 in the nearest dialect. */
export function frontDoor(plane: DataPlane, control: ControlDoor): (exchange: HttpExchange) => void {
  return (exchange) => {
    const call = addressed(exchange.path, exchange.query);
    if (call) {
      if (exchange.method !== "POST") return refuse(plane, exchange, methodNotAllowed(exchange, "POST"));
      // handleRequest answers and settles whatever happens; what it still throws is a fault of the gateway itself.
      handleRequest(plane, exchange, call).catch((fault: unknown) => {
        plane.log.fault("", fault);
        exchange.destroy();
      });
      return;
    }
    if (exchange.path === FEEDBACK_PATH) {
      if (exchange.method !== "POST") return refuse(plane, exchange, methodNotAllowed(exchange, "POST"));
      handleFeedback(plane, exchange).catch((fault: unknown) => {
        plane.log.fault("", fault);
        exchange.destroy();
      });
      return;
    }
    if (isResponsePath(exchange.path)) {
      handleResponses(plane, exchange).catch((fault: unknown) => {
        plane.log.fault("", fault);
        exchange.destroy();
      });
      return;
    }
    const models = modelsAsked(exchange);
    if (models) {
      if (exchange.method !== "GET") return refuse(plane, exchange, methodNotAllowed(exchange, "GET"));
      return handleModels(plane, exchange, models);
    }
    if (control.handles(exchange.path)) return control.handle(exchange.request, exchange.response);
    const exact = PROTOCOLS.flatMap((protocol) => protocol.clientPaths[0] ?? []);
    const paths = [...exact, "/v1beta/models/{alias}:generateContent", "/v1/models"].join(", ");
    refuse(
      plane,
      exchange,
      new GatewayError(
        "not_found",
        `there is nothing at ${exchange.path.slice(0, 120)}; clients call ${paths}; people open /console`,
      ),
    );
  };
}

/** What a peer is told that did not send HTTP. */
export const unparsedAnswer: UnparsedAnswer = (kind) => {
  const [status, code, message] =
    kind === "headers_too_large"
      ? ([
          "431 Request Header Fields Too Large",
          "request_too_large",
          "the request headers are over 64 KiB; send fewer",
        ] as const)
      : kind === "timeout"
        ? (["408 Request Timeout", "request_timeout", "the request headers did not arrive in time"] as const)
        : (["400 Bad Request", "invalid_request", "this is not a valid HTTP request"] as const);
  return { status, body: JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } }) };
};

function methodNotAllowed(exchange: Exchange, allow: string): GatewayError {
  return new GatewayError("method_not_allowed", `${exchange.path} takes ${allow}, not ${exchange.method}`, { allow });
}

function refuse(plane: DataPlane, exchange: Exchange, error: GatewayError): void {
  const requestId = newId("req", plane.clock, plane.random);
  const answer = nearestDialect(exchange).encodeError(error, requestId);
  exchange.respond(answer.status, [...answer.headers, "x-request-id", requestId], answer.body);
}

/** Whose SDK is asking, as far as the path and the headers tell. */
function nearestDialect(exchange: Exchange): Protocol {
  const call = addressed(exchange.path, exchange.query);
  if (call) return call.protocol;
  if (exchange.path.startsWith("/v1beta/")) return geminiGenerate;
  return exchange.header("anthropic-version") === undefined ? openaiChat : anthropicMessages;
}
