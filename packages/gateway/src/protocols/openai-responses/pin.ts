import { GatewayError } from "../../core/errors.ts";
import { type Fields, isObject } from "../field-checks.ts";
import { isOwnId, undressId } from "./ids.ts";

/**
 * The deployment whose ids a request holds: its token, null for a request that stands on its own. Throws invalid_request for
 * an id that carries none (ruling 23: it may be anybody's), and for ids of two deployments.
 */
export function pinOf(body: Fields, references: readonly [path: string, id: string][]): string | null {
  let token: string | null = null;
  for (const [path, id] of [...storedIds(body), ...references]) {
    const own = undressId(id);
    if (!own) {
      const shown = JSON.stringify(id.slice(0, 80));
      const why = isOwnId(id)
        ? "is of an answer that nobody keeps, because its provider has no store; send the items themselves (store: false)"
        : "is not an id that this gateway has given out";
      throw new GatewayError("invalid_request", `${path} ${shown} ${why}`, { param: path });
    }
    if (token !== null && token !== own.token) {
      throw new GatewayError("invalid_request", `${path} belongs to another deployment than the ids before it`, {
        param: path,
      });
    }
    token = own.token;
  }
  return token;
}

function storedIds(body: Fields): [path: string, id: string][] {
  const ids: [string, string][] = [];
  const { previous_response_id: previous, conversation } = body;
  if (typeof previous === "string") ids.push(["previous_response_id", previous]);
  if (typeof conversation === "string") ids.push(["conversation", conversation]);
  if (isObject(conversation) && typeof conversation["id"] === "string")
    ids.push(["conversation.id", conversation["id"]]);
  return ids;
}
