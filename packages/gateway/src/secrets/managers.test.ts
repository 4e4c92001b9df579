import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AWS_KEYS, type AwsSecretsServer, startAwsSecrets } from "../../test/support/aws-secrets-server.ts";
import { type GcpSecretsServer, startGcpSecrets } from "../../test/support/gcp-secrets-server.ts";
import type { SecretServer } from "../../test/support/secret-server.ts";
import { startVault, type VaultServer } from "../../test/support/vault-server.ts";
import { environmentOf } from "../config/env.ts";
import type { SecretValue } from "../config/secret-lookup.ts";
import { systemClock } from "../core/clock.ts";
import { systemRandom } from "../core/random.ts";
import { openSecrets } from "../open-secrets.ts";

const folder = mkdtempSync(join(tmpdir(), "secrets-"));
let vault: VaultServer;
let aws: AwsSecretsServer;
let gcp: GcpSecretsServer;

beforeAll(async () => {
  [vault, aws, gcp] = await Promise.all([startVault(), startAwsSecrets(), startGcpSecrets()]);
  vault.secrets.set("llm", { anthropic: "sk-vault", empty: "", nested: { a: 1 } });
  aws.secrets.set("prod/llm", {
    AWSCURRENT: '{"openai":"sk-aws"}',
    AWSPENDING: '{"openai":"sk-pending"}',
    AWSPREVIOUS: '{"openai":"sk-previous"}',
  });
  aws.secrets.set("plain", { AWSCURRENT: "sk-plain\n" });
  gcp.secrets.set("projects/p/secrets/llm/versions/latest", "sk-gcp");
  gcp.secrets.set("projects/p/secrets/llm/versions/3", "sk-gcp-3");
  gcp.writeKeyFile(join(folder, "gcp.json"));
});
beforeEach(() => {
  for (const server of [vault, aws, gcp] as SecretServer[]) server.trouble("none");
});
afterAll(async () => {
  await Promise.all([vault.stop(), aws.stop(), gcp.stop()]);
  rmSync(folder, { recursive: true });
});

/** What a reference gives to a gateway with these variables besides the usual ones. */
async function lookUp(reference: string, variables: Record<string, string> = {}): Promise<SecretValue> {
  const all = {
    VAULT_ADDR: vault.url,
    VAULT_TOKEN: "root",
    ...AWS_KEYS,
    AWS_REGION: "us-east-1",
    AWS_ENDPOINT_URL_SECRETS_MANAGER: aws.url,
    GOOGLE_APPLICATION_CREDENTIALS: join(folder, "gcp.json"),
    CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: gcp.url,
    ...variables,
  };
  const environment = environmentOf(new Map(Object.entries(all)), folder);
  const secrets = openSecrets({ environment, clock: systemClock, random: systemRandom() });
  try {
    const [, scheme = "", rest = ""] = /^([a-z-]+):(.*)$/.exec(reference) ?? [];
    return await secrets.lookUp(scheme, rest);
  } finally {
    secrets.close();
  }
}

describe("a reference gives what its manager holds", () => {
  it.each([
    ["vault:secret/data/llm#anthropic", "sk-vault"],
    ["vault:/v1/secret/data/llm#anthropic", "sk-vault"],
    ["vault:secret/data/llm#nested", '{"a":1}'],
    ["aws-sm:prod/llm#openai", "sk-aws"],
    ["aws-sm:plain", "sk-plain"],
    ["gcp-sm:projects/p/secrets/llm/versions/latest", "sk-gcp"],
    ["gcp-sm:projects/p/secrets/llm", "sk-gcp"],
    ["gcp-sm:projects/p/secrets/llm/versions/3", "sk-gcp-3"],
  ])("%s", async (reference, value) => {
    expect(await lookUp(reference)).toMatchObject({ value });
  });

  it("a document once, however many fields of it are wanted", async () => {
    const environment = environmentOf(new Map([...Object.entries({ VAULT_ADDR: vault.url, VAULT_TOKEN: "root" })]));
    const secrets = openSecrets({ environment, clock: systemClock, random: systemRandom() });
    vault.asked.length = 0;
    const [user, password] = await Promise.all([
      secrets.lookUp("vault", "database/creds/llm#username"),
      secrets.lookUp("vault", "database/creds/llm#password"),
    ]);
    secrets.close();
    const number = /\d+$/.exec((user as { value: string }).value)?.[0];
    expect(password).toMatchObject({ value: `password-${number}` });
    expect(vault.asked).toHaveLength(1);
  });

  it("to an AppRole, which signs in again when its token is taken away", async () => {
    const variables = { VAULT_ADDR: vault.url, VAULT_ROLE_ID: "role", VAULT_SECRET_ID: "secret" };
    const environment = environmentOf(new Map(Object.entries(variables)));
    const secrets = openSecrets({ environment, clock: systemClock, random: systemRandom() });
    expect(await secrets.lookUp("vault", "secret/data/llm#anthropic")).toMatchObject({ value: "sk-vault" });
    for (const token of vault.tokens) if (token !== "root") vault.tokens.delete(token);
    expect(await secrets.lookUp("vault", "database/creds/llm#username")).toMatchObject({
      value: expect.stringMatching(/^user-/),
    });
    secrets.close();
  });
});

describe("a reference that gives nothing says why", () => {
  it.each([
    ["vault:secret/data/llm", "refused", "vault:path#field"],
    ["vault:../sys/raw#x", "refused", "is not a path"],
    ["aws-sm:a b#c", "refused", "aws-sm:name#field"],
    ["gcp-sm:llm", "refused", "is not the name of a secret"],
    ["vault:secret/data/nope#x", "missing", "has no secret secret/data/nope"],
    ["vault:secret/data/llm#nope", "missing", "has no field `nope`"],
    ["vault:secret/data/llm#toString", "missing", "has no field `toString`"],
    ["vault:secret/data/llm#empty", "missing", "is empty"],
    ["aws-sm:nope#x", "missing", "has no secret nope"],
    ["aws-sm:plain#x", "missing", "no JSON object"],
    ["gcp-sm:projects/p/secrets/nope", "missing", "has no projects/p/secrets/nope"],
  ])("%s", async (reference, kind, words) => {
    expect(await lookUp(reference)).toMatchObject({ [kind]: expect.stringContaining(words) });
  });

  it.each([
    ["vault:secret/data/llm#anthropic", { VAULT_TOKEN: "wrong" }, "refuses secret secret/data/llm"],
    ["vault:secret/data/llm#anthropic", { VAULT_TOKEN: "" }, "set VAULT_TOKEN"],
    ["vault:secret/data/llm#anthropic", { VAULT_TOKEN: "", VAULT_ROLE_ID: "x", VAULT_SECRET_ID: "y" }, "the login"],
    ["aws-sm:plain", { AWS_SECRET_ACCESS_KEY: "wrong" }, "InvalidSignatureException"],
    ["aws-sm:plain", { AWS_REGION: "" }, "set AWS_REGION"],
    ["gcp-sm:projects/p/secrets/llm", { GOOGLE_APPLICATION_CREDENTIALS: "/nowhere" }, "cannot be read as JSON"],
  ])("%s with %j", async (reference, variables, words) => {
    expect(await lookUp(reference, variables)).toMatchObject({ missing: expect.stringContaining(words) });
  });

  it("of a manager that is not there", async () => {
    const gone = await startVault();
    await gone.stop();
    const found = await lookUp("vault:secret/data/llm#anthropic", { VAULT_ADDR: gone.url });
    expect(found).toMatchObject({ missing: `vault at ${gone.url} did not answer (ECONNREFUSED)` });
  });

  const references = ["vault:secret/data/llm#anthropic", "aws-sm:plain", "gcp-sm:projects/p/secrets/llm"];
  it.each(references)("%s of a manager that talks nonsense, is broken, or says no", async (reference) => {
    const server = { vault, "aws-sm": aws, "gcp-sm": gcp }[reference.replace(/:.*/, "")] as SecretServer;
    for (const trouble of ["garbage", "error", "denied"] as const) {
      server.trouble(trouble);
      const found = await lookUp(reference);
      expect(found, trouble).toHaveProperty("missing");
      // What it says names no token and no key.
      expect(JSON.stringify(found)).not.toMatch(/root|wJalr|ya29|BEGIN/);
    }
  });
});
