import { describe, expect, it } from "vitest";
import { secretsIn } from "../core/secret.ts";
import { lines, loadText } from "./test/load-text.ts";

const VARIABLES = { SHARED: "sk-shared", OWN: "sk-own", ORG: "org-shared" };

function config(credentials: string, provider = "{ kind: openai, api_key: env:SHARED }"): string {
  return [
    `providers: { up: ${provider} }`,
    "routes: { default: { chain: [up/gpt-4o-2024-11-20] } }",
    `tenants: { acme: { models: { allow: ['*'] }, credentials: ${credentials} } }`,
    `keys: [{ id: a, hash: "sha256:${"0".repeat(64)}", tenant: acme }]`,
  ].join("\n");
}

describe("a tenant's credentials", () => {
  it.each(["{ up: env:OWN }", "{ up: { api_key: env:OWN } }"])("%s stand in for the shared ones", async (written) => {
    const loaded = await loadText(config(written), { variables: VARIABLES });
    expect(lines(loaded)).toEqual([]);
    const own = loaded.snapshot?.tenants.get("acme")?.credentials?.get("up");
    expect(own?.apiKey?.reveal()).toBe("sk-own");
    expect(own?.apiKey?.origin).toBe("env:OWN");
    const { apiKey: _own, ...rest } = own ?? {};
    const { apiKey: _shared, ...shared } = loaded.snapshot?.providers.get("up") ?? {};
    expect(rest).toEqual(shared);
    expect(JSON.stringify([...(loaded.snapshot?.tenants ?? [])])).not.toContain("sk-");
  });

  it("take the headers along that do not say whose account is called", async () => {
    const headers = "{ openai-organization: env:ORG, x-team: blue }";
    const provider = `{ kind: openai, api_key: env:SHARED, headers: ${headers} }`;
    const { snapshot } = await loadText(config("{ up: env:OWN }", provider), { variables: VARIABLES });
    const own = snapshot?.tenants.get("acme")?.credentials?.get("up");
    expect(secretsIn(own).map((secret) => secret.reveal())).toEqual(["sk-own", "blue"]);
  });

  it.each([
    ["{ pu: env:OWN }", "tenants.acme.credentials.pu: `pu` is no provider; did you mean `up`?"],
    ["{ up: env:NOPE }", "tenants.acme.credentials.up: the reference `env:NOPE` does not resolve"],
    ["{ up: { base_url: 'http://169.254.169.254/' } }", "tenants.acme.credentials.up"],
    ["{ up: { api_key: env:OWN, proxy: 'http://x' } }", "tenants.acme.credentials.up"],
    ["{ up: { entra: { client_id: a } } }", "`entra` has no meaning for kind openai"],
    ["{ up: { entra: { authority: 'http://10.0.0.1' } } }", "`authority` is an address"],
    ["{ up: {} }", "names no credential"],
    ["{ up: { api_key: env:OWN, role_arn: 'arn:aws:iam::1:role/x' } }", "`role_arn` has no meaning for kind openai"],
    ["{ up: 12 }", "tenants.acme.credentials.up"],
    ['{ up: "a\\nb" }', "tenants.acme.credentials.up.api_key"],
  ])("%s are refused at their place", async (written, words) => {
    const loaded = await loadText(config(written), { variables: VARIABLES });
    expect(loaded.snapshot).toBeNull();
    const told = lines(loaded).filter((line) => line.includes(" error "));
    expect(told, told.join("\n")).toHaveLength(1);
    expect(told[0]).toMatch(/^3:/);
    expect(told[0]).toContain(words);
  });

  it("that are missing and may be leave the tenant out, and never on the shared key", async () => {
    const loaded = await loadText(config("{ up: env:NOPE }").replace(/^keys.*$/m, ""), {
      variables: VARIABLES,
      allowMissingSecrets: true,
    });
    expect(loaded.snapshot?.tenants.has("acme") ?? false).toBe(false);
    expect(lines(loaded).join("\n")).toContain("left out");
  });
});

describe("a service account of a tenant", () => {
  it("gets its tokens where the provider's owner says, whatever its file names", async () => {
    const { generateKeyPairSync } = await import("node:crypto");
    const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });
    const account = {
      ...{ type: "service_account", client_email: "a@b", private_key: pem, project_id: "p" },
      token_uri: "http://169.254.169.254/steal",
    };
    const provider = "{ kind: vertex, project: p, location: us-central1 }";
    const loaded = await loadText(
      config("{ up: 'file:account.json' }", provider).replace("gpt-4o-2024-11-20", "gemini-2.5-flash"),
      { variables: VARIABLES, files: { "account.json": JSON.stringify(account) } },
    );
    expect(lines(loaded).filter((line) => line.includes(" error "))).toEqual([]);
    const own = loaded.snapshot?.tenants.get("acme")?.credentials?.get("up");
    expect(own?.vertex?.google).toMatchObject({
      flow: "service_account",
      tokenUrl: "https://oauth2.googleapis.com/token",
    });
  });
});
