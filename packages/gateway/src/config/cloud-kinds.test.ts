import { describe, expect, test } from "vitest";
import { testServiceAccount } from "../../test/support/service-account.ts";
import type { ProviderConfig } from "./snapshot.ts";
import { type BadConfig, provider, testRefused } from "./test/expect-refused.ts";
import { lines, loadText } from "./test/load-text.ts";

const account = testServiceAccount("https://oauth2.googleapis.com/token");
const variables = {
  KEY: "azure-key",
  SECRET: "entra-secret",
  GCP: account.json,
  AUTHORIZED_USER: JSON.stringify({ type: "authorized_user", refresh_token: "r" }),
  NO_KEY: JSON.stringify({ type: "service_account", client_email: "a@b" }),
  BAD_KEY: JSON.stringify({ type: "service_account", client_email: "a@b", private_key: "nonsense" }),
};

async function loaded(text: string, more: Record<string, string> = {}): Promise<ProviderConfig> {
  const result = await loadText(provider(`x: ${text}`), { variables: { ...variables, ...more } });
  expect(lines(result)).toEqual([]);
  const found = result.snapshot?.providers.get("x");
  if (!found) throw new Error("no provider x");
  return found;
}

describe("azure-openai", () => {
  const HOST = "https://bank.openai.azure.com";

  test.each([
    ["a dated version", "api_version: 2024-10-21, ", "2024-10-21"],
    ["a preview", 'api_version: "2025-04-01-preview", ', "2025-04-01-preview"],
    ["the v1 surface by name", "api_version: v1, ", null],
    ["the v1 surface by default", "", null],
    ["its preview", "api_version: preview, ", "preview"],
  ])("with %s and a key", async (_, version, apiVersion) => {
    const config = await loaded(`{ kind: azure-openai, endpoint: ${HOST}/, ${version}api_key: env:KEY }`);
    expect(config).toMatchObject({ baseUrl: HOST, azure: { apiVersion, entra: null } });
    expect(config.apiKey?.reveal()).toBe("azure-key");
  });

  test("base_url stands in for endpoint", async () => {
    const config = await loaded("{ kind: azure-openai, base_url: http://127.0.0.1:9/azure, api_key: env:KEY }");
    expect(config.baseUrl).toBe("http://127.0.0.1:9/azure");
  });

  const entra = "{ tenant_id: t-1, client_id: c-1, client_secret: env:SECRET }";

  test("with an application's secret", async () => {
    const config = await loaded(`{ kind: azure-openai, endpoint: ${HOST}, entra: ${entra} }`);
    expect(config.apiKey).toBeNull();
    expect(config.azure?.entra).toMatchObject({
      flow: "secret",
      tokenUrl: "https://login.microsoftonline.com/t-1/oauth2/v2.0/token",
      clientId: "c-1",
      scope: "https://cognitiveservices.azure.com/.default",
      proxy: null,
    });
    expect(JSON.stringify(config)).not.toContain("entra-secret");
  });

  test("in a sovereign cloud, through a proxy", async () => {
    const own = "authority: https://login.microsoftonline.us/, scope: https://cognitiveservices.azure.us/.default";
    const config = await loaded(`{ kind: azure-openai, endpoint: ${HOST}, entra: { ${own}, ${entra.slice(1, -1)} } }`, {
      HTTPS_PROXY: "http://proxy:3128",
    });
    expect(config.azure?.entra).toMatchObject({
      tokenUrl: "https://login.microsoftonline.us/t-1/oauth2/v2.0/token",
      scope: "https://cognitiveservices.azure.us/.default",
      proxy: "http://proxy:3128",
    });
  });

  test("with a workload's federated token, and what the platform's variables say", async () => {
    const config = await loaded(`{ kind: azure-openai, endpoint: ${HOST}, entra: {} }`, {
      ...{ AZURE_FEDERATED_TOKEN_FILE: "/var/token", AZURE_TENANT_ID: "t-2", AZURE_CLIENT_ID: "c-2" },
      AZURE_AUTHORITY_HOST: "https://login.example.com/",
    });
    expect(config.azure?.entra).toMatchObject({
      ...{ flow: "workload", tokenFile: "/var/token", clientId: "c-2" },
      tokenUrl: "https://login.example.com/t-2/oauth2/v2.0/token",
    });
  });

  test("with the machine's identity, a chosen one, and App Service's", async () => {
    const at = `kind: azure-openai, endpoint: ${HOST}`;
    const managed = { flow: "managed", resource: "https://cognitiveservices.azure.com" };
    const imds = "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01";
    expect((await loaded(`{ ${at}, entra: {} }`)).azure?.entra).toEqual({
      ...{ ...managed, url: imds, clientId: null, header: null },
    });
    expect((await loaded(`{ ${at}, entra: { client_id: c-3 } }`)).azure?.entra).toMatchObject({ clientId: "c-3" });
    const variables = { IDENTITY_ENDPOINT: "http://localhost:4141/msi/token", IDENTITY_HEADER: "header-secret" };
    const config = await loaded(`{ ${at}, entra: {} }`, variables);
    expect(config.azure?.entra).toMatchObject({ url: "http://localhost:4141/msi/token?api-version=2019-08-01" });
    expect(JSON.stringify(config)).not.toContain("header-secret");
  });

  test("deployments have names that are not the model's", async () => {
    const text = `providers: { x: { kind: azure-openai, endpoint: ${HOST}, api_key: env:KEY } }
deployments: { d: { provider: x, model: gpt-4o-2024-11-20, azure_deployment: gpt4o-ptu } }
routes: { default: { chain: [d, x/gpt-4o-mini-2024-07-18] } }
`;
    const result = await loadText(text, { variables });
    expect(lines(result)).toEqual([]);
    expect(result.snapshot?.deployments.get("d")).toMatchObject({ model: "gpt-4o-2024-11-20", sentAs: "gpt4o-ptu" });
    expect(result.snapshot?.deployments.get("x/gpt-4o-mini-2024-07-18")?.sentAs).toBeUndefined();
  });

  const bad = (name: string, text: string, path: string, says: string): BadConfig => [
    name,
    provider(text),
    path === "" ? "providers.x" : `providers.x.${path}`,
    says,
  ];
  testRefused(
    [
      bad("no endpoint", "▸x: { kind: azure-openai, api_key: env:KEY }", "", "`endpoint` is missing"),
      bad("no key", `▸x: { kind: azure-openai, endpoint: ${HOST} }`, "", "or `entra`"),
      bad(
        "a path that calls add",
        `x: { kind: azure-openai, endpoint: ▸${HOST}/openai/v1, api_key: env:KEY }`,
        "endpoint",
        "ends in `/openai/v1`",
      ),
      bad(
        "two addresses",
        `x: { kind: azure-openai, endpoint: ${HOST}, base_url: ▸${HOST}, api_key: env:KEY }`,
        "base_url",
        "stands in for `endpoint`",
      ),
      bad(
        "a version that is none",
        `x: { kind: azure-openai, endpoint: ${HOST}, api_version: ▸latest, api_key: env:KEY }`,
        "api_version",
        "is no version of Azure's",
      ),
      bad(
        "a key and Entra",
        `x: { kind: azure-openai, endpoint: ${HOST}, api_key: env:KEY, entra: ▸{ } }`,
        "entra",
        "stands in for `api_key`",
      ),
      bad(
        "a secret of nobody",
        `x: { kind: azure-openai, endpoint: ${HOST}, entra: ▸{ tenant_id: t, client_secret: env:SECRET } }`,
        "entra",
        "`client_id` is missing",
      ),
      bad(
        "a tenant without a secret",
        `x: { kind: azure-openai, endpoint: ${HOST}, entra: { tenant_id: ▸t } }`,
        "entra.tenant_id",
        "says nothing without `client_secret`",
      ),
      bad(
        "an authority that is none",
        `x: { kind: azure-openai, endpoint: ${HOST}, entra: { authority: ▸login, tenant_id: t, client_id: c, client_secret: env:SECRET } }`,
        "entra.authority",
        "is not an http or https URL",
      ),
      bad(
        "a user's scope",
        `x: { kind: azure-openai, endpoint: ${HOST}, entra: { scope: ▸User.Read } }`,
        "entra.scope",
        "ends in `/.default`",
      ),
      bad(
        "an endpoint of another kind",
        `x: { kind: openai, endpoint: ▸${HOST}, api_key: env:KEY }`,
        "endpoint",
        "only for azure-openai",
      ),
    ],
    { variables },
  );

  testRefused([
    [
      "a deployment's name elsewhere",
      "providers: { sim: { kind: simulator } }\ndeployments: { d: { provider: sim, model: echo, azure_deployment: ▸x } }\nroutes: { default: { chain: [d] } }\n",
      "deployments.d.azure_deployment",
      "only for azure-openai",
    ],
  ]);
});

describe("vertex", () => {
  test.each([
    ["europe-west4", "https://europe-west4-aiplatform.googleapis.com"],
    ["global", "https://aiplatform.googleapis.com"],
    ["us", "https://aiplatform.us.rep.googleapis.com"],
    ["eu", "https://aiplatform.eu.rep.googleapis.com"],
  ])("in %s", async (location, baseUrl) => {
    const config = await loaded(`{ kind: vertex, project: p-1, location: ${location}, credentials: env:GCP }`);
    expect(config).toMatchObject({ baseUrl, vertex: { project: "p-1", location } });
  });

  test("as a service account, whose project it is unless another is named", async () => {
    const config = await loaded("{ kind: vertex, location: global, credentials: env:GCP }");
    expect(config.vertex).toMatchObject({
      project: "from-credentials",
      google: {
        ...{ flow: "service_account", email: account.email, keyId: "kid-1", proxy: null },
        tokenUrl: "https://oauth2.googleapis.com/token",
      },
    });
    expect(JSON.stringify(config)).not.toContain("PRIVATE KEY");
  });

  test("with tokens from elsewhere", async () => {
    const text = "{ kind: vertex, location: global, credentials: env:GCP, token_url: http://127.0.0.1:1/token }";
    expect((await loaded(text)).vertex?.google).toMatchObject({ tokenUrl: "http://127.0.0.1:1/token" });
  });

  test("as the machine, whose metadata server may be elsewhere", async () => {
    const path = "/computeMetadata/v1/instance/service-accounts/default/token";
    const text = "{ kind: vertex, project: p, location: global }";
    expect((await loaded(text)).vertex?.google).toEqual({ flow: "metadata", url: `http://169.254.169.254${path}` });
    const elsewhere = await loaded(text, { GCE_METADATA_HOST: "127.0.0.1:8" });
    expect(elsewhere.vertex?.google).toEqual({ flow: "metadata", url: `http://127.0.0.1:8${path}` });
  });

  test("with an API key", async () => {
    const config = await loaded("{ kind: vertex, project: p, location: global, api_key: env:KEY }");
    expect(config.vertex?.google).toBeNull();
    expect(config.apiKey?.reveal()).toBe("azure-key");
  });

  const at = "kind: vertex, project: p, location: global";
  testRefused(
    [
      ["no project", provider("▸x: { kind: vertex, location: global }"), "providers.x", "`project` is missing"],
      ["no location", provider("▸x: { kind: vertex, project: p }"), "providers.x", "`location` is missing"],
      [
        "a location that is none",
        provider("x: { kind: vertex, project: p, location: ▸Europe/West }"),
        "providers.x.location",
        "is not a location",
      ],
      [
        "a project that is none",
        provider("x: { kind: vertex, project: ▸a/b, location: global }"),
        "providers.x.project",
        "is not the id of a project",
      ],
      ["no JSON", provider(`x: { ${at}, credentials: ▸./gcp.json }`), "providers.x.credentials", "is not JSON"],
      [
        "a user's credentials",
        provider(`x: { ${at}, credentials: ▸env:AUTHORIZED_USER }`),
        "providers.x.credentials",
        "authorized_user",
      ],
      [
        "no private key",
        provider(`x: { ${at}, credentials: ▸env:NO_KEY }`),
        "providers.x.credentials",
        "no `private_key`",
      ],
      ["a broken key", provider(`x: { ${at}, credentials: ▸env:BAD_KEY }`), "providers.x.credentials", "no RSA key"],
      [
        "a key and credentials",
        provider(`x: { ${at}, api_key: env:KEY, credentials: ▸env:GCP }`),
        "providers.x.credentials",
        "two ways",
      ],
      [
        "tokens of nobody",
        provider(`x: { ${at}, token_url: ▸http://127.0.0.1/t }`),
        "providers.x.token_url",
        "GCE_METADATA_HOST",
      ],
      [
        "a version in the URL",
        provider(`x: { ${at}, base_url: ▸https://vertex.example/v1 }`),
        "providers.x.base_url",
        "ends in `/v1`",
      ],
      [
        "another's model",
        `providers: { x: { ${at} } }\ndeployments: { d: { provider: x, model: ▸publishers/meta/models/llama-4 } }\nroutes: { default: { chain: [d] } }\n`,
        "deployments.d.model",
        "publisher",
      ],
    ],
    { variables },
  );

  test("a literal key warns, and is not shown", async () => {
    const result = await loadText(provider(`x: { ${at}, credentials: '${account.json.replaceAll("\n", "")}' }`));
    expect(lines(result).join("\n")).toContain("literal secret");
    expect(lines(result).join("\n")).not.toContain("PRIVATE KEY");
  });
});
