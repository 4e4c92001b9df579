import { type Answer, placeOf } from "./ask.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";
import type { IssuedToken } from "./token-cache.ts";

/** What may stand in a header behind `Bearer `. */
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * The token in an answer of RFC 6749: `access_token` with `expires_in` (seconds, as a number or as text) or, from App Service,
 * `expires_on` (epoch seconds). Throws what went wrong: who was asked, the status, the error's own words cut short and less
 * `secrets`.
 */
export function tokenIn(answer: Answer, url: string, nowMs: number, secrets: readonly string[]): IssuedToken {
  const place = placeOf(url);
  const body = objectIn(answer.body);
  if (answer.status !== 200) throw new Error(`${place} answered ${answer.status}${reasonIn(body, secrets)}`);
  const value = body?.["access_token"];
  if (typeof value !== "string" || value.length > TOKEN_BOUNDS.tokenCharsMax || !TOKEN.test(value)) {
    throw new Error(`${place} answered 200 without a token`);
  }
  const seconds = number(body?.["expires_in"]);
  const until = number(body?.["expires_on"]);
  const lifeMs = seconds !== null ? seconds * 1_000 : until === null ? 0 : until * 1_000 - nowMs;
  if (!(lifeMs > 0)) throw new Error(`${place} answered with a token that holds for no time`);
  return { value, lifeMs };
}

/** OAuth's `error` and its description, or the first words of whatever else it is. */
function reasonIn(body: Record<string, unknown> | null, secrets: readonly string[]): string {
  const error = body?.["error"];
  const nested = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const words = [error, body?.["error_description"], nested["message"]].filter((word) => typeof word === "string");
  let text = words.join(": ").replace(/\s+/g, " ").trim();
  for (const secret of secrets) if (secret !== "") text = text.replaceAll(secret, "***");
  return text === "" ? "" : `: ${text.slice(0, TOKEN_BOUNDS.reasonCharsMax)}`;
}

function objectIn(body: Buffer): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function number(value: unknown): number | null {
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof read === "number" && Number.isFinite(read) ? read : null;
}
