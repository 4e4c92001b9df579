import { GatewayError, toGatewayError } from "./core/errors.ts";
import type { Exchange } from "./http/exchange.ts";
import type { Protocol } from "./protocols/protocol.ts";
import { idHeaders } from "./stages/answer-headers.ts";
import { authenticate } from "./stages/authenticate.ts";
import { allowedAliases } from "./stages/authorize.ts";
import type { DataPlane } from "./stages/plane.ts";
import { openVisit } from "./stages/visit.ts";

const PATH = "/v1/models";

/** True for GET /v1/models and GET /v1/models/{alias}. */
export function isModelsPath(path: string): boolean {
  return path === PATH || path.startsWith(`${PATH}/`);
}

/** The aliases this key may use, in OpenAI's list shape; one alias by name (encoded or with its slash as it is). */
export function handleModels(plane: DataPlane, exchange: Exchange, dialect: Protocol): void {
  const visit = openVisit(plane.clock, plane.random, exchange, dialect);
  try {
    const { snapshot, ...runtime } = plane.runtime();
    const caller = authenticate(plane, { snapshot, ...runtime }, (name) => exchange.header(name));
    const created = Math.floor(snapshot.loadedAt / 1_000);
    const entry = (id: string): object => ({ id, object: "model", created, owned_by: "sluicegate" });
    const aliases = allowedAliases(snapshot, caller);
    if (exchange.path === PATH) return json(exchange, visit, { object: "list", data: aliases.map(entry) });
    const wanted = decode(exchange.path.slice(PATH.length + 1));
    if (!aliases.includes(wanted)) {
      throw new GatewayError(
        "model_not_found",
        `there is no alias ${JSON.stringify(wanted.slice(0, 120))} for this key`,
        { param: "model" },
      );
    }
    json(exchange, visit, entry(wanted));
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === "internal") plane.log.fault(visit.requestId, error.details.cause ?? error);
    const answer = dialect.encodeError(error, visit.requestId);
    exchange.respond(answer.status, [...answer.headers, ...idHeaders(visit)], answer.body);
  }
}

function json(exchange: Exchange, visit: { requestId: string }, value: unknown): void {
  exchange.respond(200, ["content-type", "application/json", "x-request-id", visit.requestId], JSON.stringify(value));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
