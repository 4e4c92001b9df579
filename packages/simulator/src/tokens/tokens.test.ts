import { describe, expect, test } from "vitest";
import { type Loose, simulate } from "../../test/kit.ts";
import type { Simulator } from "../index.ts";

const SCOPE = "https://cognitiveservices.azure.com/.default";
const CLIENT = { grant_type: "client_credentials", client_id: "app", client_secret: "s", scope: SCOPE };
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

async function form(simulator: Simulator, path: string, fields: Record<string, string>) {
  const response = await fetch(simulator.url + path, { method: "POST", body: new URLSearchParams(fields) });
  return { status: response.status, body: (await response.json()) as Loose };
}

function jwt(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part(claims)}.c2lnbmVk`;
}

function ask(simulator: Simulator, token: string): Promise<Response> {
  const body = JSON.stringify({ contents: [{ role: "user", parts: [{ text: "alpha" }] }] });
  const path = "/v1/projects/p/locations/global/publishers/google/models/echo:generateContent";
  return fetch(simulator.url + path, { method: "POST", body, headers: { authorization: `Bearer ${token}` } });
}

describe("Entra ID", () => {
  test("gives a token for a client's secret", async () => {
    const simulator = await simulate();
    const { status, body } = await form(simulator, "/tenant/oauth2/v2.0/token", CLIENT);
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, access_token: expect.any(String) });
  });

  test.each([
    ["another grant", { grant_type: "password" }, 400, "unsupported_grant_type"],
    ["a user's scope", { scope: "User.Read" }, 400, "invalid_scope"],
    ["a wrong secret", { client_secret: "bad-key" }, 401, "invalid_client"],
    ["an outage that was asked for", { client_id: "app?status=503" }, 503, "server_error"],
  ])("refuses %s", async (_, fields, wanted, error) => {
    const simulator = await simulate();
    const { status, body } = await form(simulator, "/t/oauth2/v2.0/token", { ...CLIENT, ...fields });
    expect({ status, error: body.error }).toEqual({ status: wanted, error });
  });

  test("gives a machine its own", async () => {
    const simulator = await simulate();
    const url = `${simulator.url}/metadata/identity/oauth2/token?api-version=2018-02-01&resource=r`;
    expect((await fetch(url)).status).toBe(400);
    const body = (await (await fetch(url, { headers: { metadata: "true" } })).json()) as Loose;
    expect(body.expires_in).toBe("3600");
  });
});

describe("Google", () => {
  const nowS = Math.floor(Date.now() / 1000);
  const claims = { iss: "robot@p", scope: "s", aud: "a", iat: nowS, exp: nowS + 3600 };

  test("gives a token for an assertion", async () => {
    const simulator = await simulate();
    const fields = { grant_type: JWT_BEARER, assertion: jwt(claims) };
    const { status, body } = await form(simulator, "/token?expires_in=60", fields);
    expect(status).toBe(200);
    expect(body.expires_in).toBe(60);
    expect((await ask(simulator, body.access_token)).status).toBe(200);
  });

  test.each([
    ["no token", "x", "invalid_request"],
    ["one of yesterday", jwt({ ...claims, iat: nowS - 90_000, exp: nowS - 86_400 }), "invalid_grant"],
    ["one for a day", jwt({ ...claims, exp: nowS + 86_400 }), "invalid_grant"],
    ["nobody's", jwt({ ...claims, iss: undefined }), "invalid_grant"],
  ])("refuses %s", async (_, assertion, error) => {
    const simulator = await simulate();
    const { status, body } = await form(simulator, "/token", { grant_type: JWT_BEARER, assertion });
    expect({ status, error: body.error }).toEqual({ status: 400, error });
  });

  test("gives a machine its own", async () => {
    const simulator = await simulate();
    const url = `${simulator.url}/computeMetadata/v1/instance/service-accounts/default/token`;
    expect((await fetch(url)).status).toBe(403);
    const response = await fetch(url, { headers: { "metadata-flavor": "Google" } });
    expect(response.headers.get("metadata-flavor")).toBe("Google");
    expect(((await response.json()) as Loose).access_token).toEqual(expect.any(String));
  });
});

test("a token that is over, or forgotten, is a 401 in the vendor's words", async () => {
  const simulator = await simulate();
  const { body } = await form(simulator, "/t/oauth2/v2.0/token", { ...CLIENT, client_id: "app?expires_in=0" });
  const response = await ask(simulator, body.access_token);
  expect(response.status).toBe(401);
  expect(((await response.json()) as Loose).error.status).toBe("UNAUTHENTICATED");
  const other = await form(simulator, "/t/oauth2/v2.0/token", CLIENT);
  expect((await ask(simulator, other.body.access_token)).status).toBe(200);
  simulator.reset();
  expect((await ask(simulator, other.body.access_token)).status).toBe(401);
});
