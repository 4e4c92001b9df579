import type { FeedbackRow } from "@sluicegate/contract";
import { didYouMean } from "./config/nearest.ts";
import { GatewayError, toGatewayError } from "./core/errors.ts";
import { newId } from "./core/ids.ts";
import { LIMITS } from "./core/limits.ts";
import { readBody } from "./http/body.ts";
import type { Exchange } from "./http/exchange.ts";
import { openaiChat } from "./protocols/openai-chat/index.ts";
import { idHeaders } from "./stages/answer-headers.ts";
import { authenticate } from "./stages/authenticate.ts";
import type { DataPlane } from "./stages/plane.ts";
import { openVisit } from "./stages/visit.ts";

/** Where clients post scores. */
export const FEEDBACK_PATH = "/v1/feedback";

const FIELDS = ["request_id", "session_id", "name", "value", "comment"] as const;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A score's own part of its row. */
type Score = Pick<FeedbackRow, "request_id" | "session_id" | "name" | "value" | "comment">;

/** POST /v1/feedback: one score of a request or a session of the caller's tenant (SPEC ROUTE-9). Answers whatever happens. */
export async function handleFeedback(plane: DataPlane, exchange: Exchange): Promise<void> {
  const { clock, random } = plane;
  const visit = openVisit(clock, random, exchange, openaiChat);
  try {
    if (plane.draining())
      throw new GatewayError("draining", "this gateway is shutting down; ask again", { retryAfterMs: 1_000 });
    const { key, tenant } = authenticate(plane, plane.runtime(), exchange);
    const bounds = { bytesMax: LIMITS.feedbackBodyBytesMax, timeoutMs: plane.waits.clientBodyMs };
    const score = scoreIn(await readBody(exchange, bounds, clock));
    const at = new Date(visit.startedAt).toISOString();
    const row = { id: newId("fb", clock, random), at, tenant: tenant.name, key_id: key.id, ...score };
    await plane.feedback.leave(row);
    const answer = JSON.stringify({ id: row.id, at, ...score });
    exchange.respond(200, ["content-type", "application/json", ...idHeaders(visit)], answer);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.code === "cancelled") return;
    if (error.code === "internal") plane.log.fault(visit.requestId, error.details.cause ?? error);
    const { status, headers, body } = openaiChat.encodeError(error, visit.requestId);
    exchange.respond(status, [...headers, ...idHeaders(visit)], body);
  }
}

function scoreIn(raw: Buffer): Score {
  const body = objectIn(raw);
  for (const field of Object.keys(body)) {
    if ((FIELDS as readonly string[]).includes(field)) continue;
    const hint = didYouMean(field, FIELDS) || `; known are ${FIELDS.join(", ")}`;
    throw invalid(field.slice(0, 80), `unknown field ${JSON.stringify(field.slice(0, 80))}${hint}`);
  }
  const { name, value } = body;
  const requestId = textIn(body, "request_id", LIMITS.labelCharsMax);
  const sessionId = textIn(body, "session_id", LIMITS.labelCharsMax);
  if ((requestId === null) === (sessionId === null))
    throw invalid("request_id", "give request_id or session_id: one of the two");
  if (typeof name !== "string" || !NAME.test(name))
    throw invalid("name", "name must be 1 to 64 letters, digits, `.`, `_` or `-`, as in `helpful`");
  if (typeof value !== "boolean" && !(typeof value === "number" && Number.isFinite(value)))
    throw invalid("value", "value must be a number, true or false");
  return {
    ...{ request_id: requestId, session_id: sessionId, name, value },
    comment: textIn(body, "comment", LIMITS.feedbackCommentCharsMax),
  };
}

function objectIn(raw: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(raw.toString("utf8"));
  } catch {
    throw new GatewayError("invalid_request", "the body is not valid JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new GatewayError("invalid_request", "the body must be a JSON object");
}

/** Null: it is not given. */
function textIn(body: Record<string, unknown>, field: string, charsMax: number): string | null {
  const value = body[field] ?? null;
  if (value === null) return null;
  if (typeof value === "string" && value !== "" && value.length <= charsMax) return value;
  throw invalid(field, `${field} must be a text of 1 to ${charsMax} characters`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
