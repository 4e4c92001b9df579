import { createPrivateKey } from "node:crypto";
import { SignJWT } from "jose";
import type { GoogleAuthConfig } from "../../config/snapshot.ts";
import type { Clock } from "../../core/clock.ts";
import { type Ask, placeOf } from "./ask.ts";
import { tokenIn } from "./oauth-answer.ts";
import type { FetchToken } from "./token-cache.ts";

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** The longest an assertion may hold. */
const ASSERTION_S = 3_600;
const FORM = ["content-type", "application/x-www-form-urlencoded"] as const;

/** Gets Google access tokens: for a service account by a signed assertion (RFC 7523), else from the machine's metadata server. */
export function googleToken(auth: GoogleAuthConfig, ask: Ask, clock: Clock): FetchToken {
  return auth.flow === "metadata" ? fromMetadata(auth, ask, clock) : byAssertion(auth, ask, clock);
}

type ServiceAccount = Extract<GoogleAuthConfig, { flow: "service_account" }>;

function byAssertion(auth: ServiceAccount, ask: Ask, clock: Clock): FetchToken {
  const { tokenUrl: url, email, keyId, proxy } = auth;
  const key = createPrivateKey(auth.key.reveal());
  const header = { alg: "RS256", typ: "JWT", ...(keyId !== null && { kid: keyId }) };
  return async () => {
    const issuedAt = Math.floor(clock.now() / 1_000);
    const assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader(header)
      .setIssuer(email)
      .setAudience(url)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + ASSERTION_S)
      .sign(key);
    const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
    const answer = await ask({ url, method: "POST", headers: FORM, body, proxy });
    return tokenIn(answer, url, clock.now(), [assertion]);
  };
}

type Metadata = Extract<GoogleAuthConfig, { flow: "metadata" }>;

/** Only the real server says its flavour: whatever else answers on that address must not be believed. */
function fromMetadata({ url }: Metadata, ask: Ask, clock: Clock): FetchToken {
  return async () => {
    const headers = ["metadata-flavor", "Google"];
    const answer = await ask({ url, method: "GET", headers, body: null, proxy: null });
    if (answer.headers["metadata-flavor"]?.toLowerCase() !== "google") {
      throw new Error(`${placeOf(url)} answered ${answer.status}, and is no metadata server of Google's`);
    }
    return tokenIn(answer, url, clock.now(), []);
  };
}
