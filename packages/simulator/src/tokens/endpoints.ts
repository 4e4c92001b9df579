import { type Exchange, note, sendJson } from "../exchange.ts";
import { queryOf } from "../gemini/target.ts";
import type { State } from "../state.ts";

const ENTRA = /^\/([^/]+)\/oauth2\/v2\.0\/token$/;
const IMDS = "/metadata/identity/oauth2/token";
const GOOGLE = "/token";
const METADATA = "/computeMetadata/v1/instance/service-accounts/default/token";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const LIFE_S = 3600;

/** An answer of those who give tokens: status, body, headers. */
type Said = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>];

/**
 * Gives access tokens as Entra ID (POST /{tenant}/oauth2/v2.0/token), Azure's and Google's metadata servers, and Google's
 * token endpoint (POST /token) do; false when the path is none of these. `expires_in` and `status` in the query of a token
 * URL, or behind a `?` in Entra's client_id, say how long tokens hold and what is said instead of one.
 */
export function answerToken(state: State, exchange: Exchange, bytes: Buffer): boolean {
  const say = endpointAt(exchange);
  if (say === null) return false;
  const form = new URLSearchParams(bytes.toString("utf8"));
  const hit = note(state, exchange, null, false);
  const [status, body, headers = {}] = say(state, exchange, form);
  hit.status = status;
  for (const [name, value] of Object.entries(headers)) exchange.res.setHeader(name, value);
  exchange.res.setHeader("cache-control", "no-store");
  sendJson(exchange.res, status, body);
  return true;
}

type Say = (state: State, exchange: Exchange, form: URLSearchParams) => Said;

function endpointAt({ path, method }: Exchange): Say | null {
  if (method === "POST") return ENTRA.test(path) ? entra : path === GOOGLE ? google : null;
  if (method !== "GET") return null;
  return path === IMDS ? imds : path === METADATA ? metadata : null;
}

function entra(state: State, _exchange: Exchange, form: URLSearchParams): Said {
  const [client = "", options = ""] = (form.get("client_id") ?? "").split("?");
  if (form.get("grant_type") !== "client_credentials") return refusal(400, "unsupported_grant_type", "AADSTS70003");
  if (client === "") return refusal(400, "invalid_request", "AADSTS900144: client_id is missing");
  if (!/\/\.default$/.test(form.get("scope") ?? "")) return refusal(400, "invalid_scope", "AADSTS1002012");
  const secret = form.get("client_secret");
  const assertion = form.get("client_assertion_type") === CLIENT_ASSERTION ? form.get("client_assertion") : null;
  if (secret === null && assertion === null) return refusal(401, "invalid_client", "AADSTS7000218: no secret");
  if (secret === "bad-key") return refusal(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.");
  return given(state, new URLSearchParams(options), { ext_expires_in: LIFE_S });
}

function google(state: State, exchange: Exchange, form: URLSearchParams): Said {
  if (form.get("grant_type") !== JWT_BEARER) return refusal(400, "unsupported_grant_type", "Invalid grant_type");
  const claims = claimsOf(form.get("assertion") ?? "");
  if (claims === null) return refusal(400, "invalid_request", "Invalid JWT: not a signed token");
  const nowS = Date.now() / 1000;
  const { iat, exp, scope, iss } = claims;
  const dated =
    typeof iat === "number" && typeof exp === "number" && exp > nowS && exp - iat <= 3600 && iat < nowS + 60;
  if (!dated) return refusal(400, "invalid_grant", "Invalid JWT: Token must be a short-lived token (60 minutes)");
  if (typeof iss !== "string" || iss === "") return refusal(400, "invalid_grant", "Invalid grant: account not found");
  if (typeof scope !== "string" || scope === "") return refusal(400, "invalid_scope", "Invalid OAuth scope");
  return given(state, queryOf(exchange.req.url ?? ""), {});
}

function imds(state: State, exchange: Exchange): Said {
  const query = queryOf(exchange.req.url ?? "");
  if (exchange.req.headers.metadata !== "true") return refusal(400, "bad_request_102", "Required metadata header");
  if (!query.get("resource") || !query.get("api-version")) return refusal(400, "bad_request", "resource is missing");
  // This server writes its numbers as text.
  const [status, body] = given(state, query, {});
  return [status, Object.fromEntries(Object.entries(body as object).map(([key, value]) => [key, String(value)]))];
}

function metadata(state: State, exchange: Exchange): Said {
  const flavor = { "metadata-flavor": "Google" };
  if (exchange.req.headers["metadata-flavor"] !== "Google") return [403, { error: "forbidden" }, flavor];
  const [status, body] = given(state, queryOf(exchange.req.url ?? ""), {});
  return [status, body, flavor];
}

function given(state: State, options: URLSearchParams, more: object): Said {
  const status = Number(options.get("status") ?? 200);
  if (status !== 200) return refusal(status, status >= 500 ? "server_error" : "invalid_client", "as it was asked for");
  const seconds = Number(options.get("expires_in") ?? LIFE_S);
  return [200, { token_type: "Bearer", expires_in: seconds, ...more, access_token: state.tokens.issue(seconds) }];
}

function refusal(status: number, error: string, description: string): Said {
  return [status, { error, error_description: description }];
}

/** What a JWT in the compact form claims; who signed it is not looked at. */
function claimsOf(jwt: string): Record<string, unknown> | null {
  const [, claims, signature] = jwt.split(".");
  if (claims === undefined || !signature) return null;
  try {
    const read: unknown = JSON.parse(Buffer.from(claims, "base64url").toString("utf8"));
    return typeof read === "object" && read !== null ? { ...read } : null;
  } catch {
    return null;
  }
}
