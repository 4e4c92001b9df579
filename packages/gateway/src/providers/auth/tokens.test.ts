import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testServiceAccount } from "../../../test/support/service-account.ts";
import { sendJson, startTokenServer, type TokenServer } from "../../../test/support/token-server.ts";
import type { EntraConfig, GoogleAuthConfig } from "../../config/snapshot.ts";
import { systemClock } from "../../core/clock.ts";
import { Secret } from "../../core/secret.ts";
import type { Transport } from "../../core/transport.ts";
import { createTransport } from "../../http/upstream/transport.ts";
import { askThrough } from "./ask.ts";
import { TOKEN_BOUNDS } from "./bounds.ts";
import { entraToken } from "./entra-token.ts";
import { googleToken } from "./google-token.ts";
import type { FetchToken } from "./token-cache.ts";

const SECRET = "s3cret/+of the client";
let server: TokenServer;
let transport: Transport;

beforeEach(async () => {
  server = await startTokenServer();
  transport = createTransport(systemClock);
});

afterEach(async () => {
  await transport.close();
  await server.close();
});

function bySecret(): FetchToken {
  const entra: EntraConfig = {
    ...{ flow: "secret", tokenUrl: `${server.url}/t-1/oauth2/v2.0/token`, clientId: "c-1", proxy: null },
    ...{ clientSecret: new Secret(SECRET, "env:X"), scope: "https://cognitiveservices.azure.com/.default" },
  };
  return entraToken(entra, askThrough(transport, systemClock, "p:token"), systemClock);
}

function google(auth: GoogleAuthConfig): FetchToken {
  return googleToken(auth, askThrough(transport, systemClock, "p:token"), systemClock);
}

describe("Entra ID", () => {
  test("gives a token for a client's secret", async () => {
    expect(await bySecret()()).toEqual({ value: "token-1", lifeMs: 3_600_000 });
    expect(server.hits[0]).toMatchObject({ method: "POST", path: "/t-1/oauth2/v2.0/token" });
    expect(Object.fromEntries(server.hits[0]?.form ?? [])).toEqual({
      ...{ grant_type: "client_credentials", client_id: "c-1", client_secret: SECRET },
      scope: "https://cognitiveservices.azure.com/.default",
    });
  });

  test("gives one for a workload's federated token, read anew each time", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sluicegate-workload-"));
    const tokenFile = join(dir, "token");
    const entra: EntraConfig = {
      ...{ flow: "workload", tokenUrl: `${server.url}/t/oauth2/v2.0/token`, clientId: "c", proxy: null },
      ...{ tokenFile, scope: "https://ai.azure.com/.default" },
    };
    const fetch = entraToken(entra, askThrough(transport, systemClock, "p:token"), systemClock);
    await expect(fetch()).rejects.toThrow(/AZURE_FEDERATED_TOKEN_FILE.*ENOENT/);
    for (const text of ["first", "second"]) {
      writeFileSync(tokenFile, `${text}\n`);
      await fetch();
      expect(server.hits.at(-1)?.form.get("client_assertion")).toBe(text);
    }
    expect(server.hits[0]?.form.get("client_assertion_type")).toMatch(/client-assertion-type:jwt-bearer$/);
    expect(server.hits[0]?.form.has("client_secret")).toBe(false);
    rmSync(dir, { recursive: true });
  });

  test("gives the machine's identity one, by IMDS and by App Service", async () => {
    const ask = askThrough(transport, systemClock, "p:token");
    const managed = { flow: "managed", resource: "https://cognitiveservices.azure.com" } as const;
    const imds = `${server.url}/metadata/identity/oauth2/token?api-version=2018-02-01`;
    server.answer((_, response) => sendJson(response, 200, { access_token: "t", expires_in: "86399" }));
    expect(await entraToken({ ...managed, url: imds, clientId: "c-2", header: null }, ask, systemClock)()).toEqual({
      value: "t",
      lifeMs: 86_399_000,
    });
    const [hit] = server.hits;
    expect(hit?.headers["metadata"]).toBe("true");
    expect(Object.fromEntries(hit?.query ?? [])).toEqual({
      ...{ "api-version": "2018-02-01", resource: "https://cognitiveservices.azure.com", client_id: "c-2" },
    });
    const clock = { ...systemClock, now: () => 1_700_000_000_000 };
    server.answer((_, response) => sendJson(response, 200, { access_token: "u", expires_on: "1700000600" }));
    const url = `${server.url}/msi/token?api-version=2019-08-01`;
    const header = new Secret("h3ader", "env:IDENTITY_HEADER");
    const token = await entraToken({ ...managed, url, clientId: null, header }, ask, clock)();
    expect(token).toEqual({ value: "u", lifeMs: 600_000 });
    expect(server.hits[1]?.headers["x-identity-header"]).toBe("h3ader");
    expect(server.hits[1]?.query.has("client_id")).toBe(false);
  });
});

describe("Google", () => {
  test("gives a token for an assertion that the service account has signed", async () => {
    const account = testServiceAccount(`${server.url}/token`);
    const before = Math.floor(Date.now() / 1_000);
    const token = await google({
      ...{ flow: "service_account", tokenUrl: `${server.url}/token`, email: account.email, proxy: null },
      ...{ key: new Secret(account.pem, "file:x"), keyId: "kid-1" },
    })();
    expect(token).toEqual({ value: "token-1", lifeMs: 3_600_000 });
    const form = server.hits[0]?.form;
    expect(form?.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const { payload, protectedHeader } = await jwtVerify(form?.get("assertion") ?? "", account.publicKey, {
      ...{ issuer: account.email, audience: `${server.url}/token` },
    });
    expect(protectedHeader).toEqual({ alg: "RS256", typ: "JWT", kid: "kid-1" });
    expect(payload["scope"]).toBe("https://www.googleapis.com/auth/cloud-platform");
    expect(payload.iat).toBeGreaterThanOrEqual(before);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3_600);
  });

  test("gives the machine one at its metadata server, and nobody is believed who is not that", async () => {
    const url = `${server.url}/computeMetadata/v1/instance/service-accounts/default/token`;
    expect(await google({ flow: "metadata", url })()).toEqual({ value: "token-1", lifeMs: 3_600_000 });
    expect(server.hits[0]?.headers["metadata-flavor"]).toBe("Google");
    server.answer((_, response) => sendJson(response, 200, { access_token: "x", expires_in: 60 }));
    await expect(google({ flow: "metadata", url })()).rejects.toThrow("is no metadata server");
  });
});

describe("what goes wrong is told in few words, without a secret", () => {
  const said = async (): Promise<string> => {
    const thrown: unknown = await bySecret()().catch((error: unknown) => error);
    if (!(thrown instanceof Error)) throw new Error("a token came");
    return thrown.message;
  };

  test("a refusal", async () => {
    const description = `AADSTS7000215: Invalid client secret provided: ${SECRET} ${encodeURIComponent(SECRET)} ${"x".repeat(10_000)}`;
    server.answer((_, response) =>
      sendJson(response, 401, { error: "invalid_client", error_description: description }),
    );
    const words = await said();
    expect(words).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/t-1\/oauth2\/v2\.0\/token answered 401: invalid_client: AADSTS7000215/,
    );
    expect(words).not.toContain("s3cret");
    expect(words.length).toBeLessThan(TOKEN_BOUNDS.reasonCharsMax + 120);
  });

  test.each([
    [
      "Google's own error",
      403,
      { error: { code: 403, message: "denied\nfor good" } },
      /answered 403: denied for good$/,
    ],
    ["a server's fault", 500, { error: "server_error" }, /answered 500: server_error$/],
    ["no words at all", 503, null, /answered 503$/],
    ["a redirect", 302, {}, /answered 302$/],
    ["no token", 200, {}, /answered 200 without a token$/],
    ["a token that no header holds", 200, { access_token: "a\nb", expires_in: 1 }, /without a token$/],
    ["a token without end", 200, { access_token: "a" }, /holds for no time$/],
    ["a token that is over", 200, { access_token: "a", expires_in: 0 }, /holds for no time$/],
    ["a life that is no number", 200, { access_token: "a", expires_in: "soon" }, /holds for no time$/],
  ])("%s", async (_, status, body, words) => {
    server.answer((__, response) => sendJson(response, status, body));
    expect(await said()).toMatch(words);
  });

  test.each([
    ["garbage", "<html>", /without a token$/],
    ["half a JSON", '{"access_token":"a', /without a token$/],
    ["nothing", "", /without a token$/],
  ])("%s", async (_, body, words) => {
    server.answer((__, response) => void response.writeHead(200).end(body));
    expect(await said()).toMatch(words);
  });

  test("an answer without end", async () => {
    server.answer((_, response) => {
      response.writeHead(200);
      const more = (): void => {
        if (!response.destroyed) response.write(Buffer.alloc(64 * 1_024), () => setImmediate(more));
      };
      more();
    });
    expect(await said()).toMatch(/answered more than \d+ bytes$/);
  });

  test("a connection that breaks, and nobody there", async () => {
    server.answer((_, response) => void response.socket?.destroy());
    expect(await said()).toMatch(/did not answer \((?:reset|connect)\)$/);
    const { url } = server;
    await server.close();
    expect(await said()).toBe(`${url}/t-1/oauth2/v2.0/token did not answer (connect)`);
  });

  test("one that answers too late", async () => {
    let fire = (): void => {};
    const clock = {
      ...systemClock,
      after(ms: number, fn: () => void) {
        if (ms !== TOKEN_BOUNDS.fetchMs) return systemClock.after(ms, fn);
        fire = fn;
        return { cancel: () => {} };
      },
    };
    server.answer(() => fire());
    const metadata = { flow: "metadata", url: `${server.url}/slow?key=1` } as const;
    const late = googleToken(metadata, askThrough(transport, clock, "p:token"), clock)();
    await expect(late).rejects.toThrow(`${server.url}/slow did not answer within 10000 ms`);
  });
});
